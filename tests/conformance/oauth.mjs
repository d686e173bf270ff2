// A strict client of OAuth: all ways to tokens. node oauth.mjs URL COOKIE; prints JSON.
import * as o from "oauth4webapi";
import { agree } from "./agree.mjs";

const [url, cookie] = process.argv.slice(2);
const here = { [o.allowInsecureRequests]: true };
const mcp = new URL("/mcp", url);
const redirect = "http://127.0.0.1:5555/callback";
const device = "urn:ietf:params:oauth:grant-type:device_code";
const found = {};

const resource = await o.processResourceDiscoveryResponse(
  mcp, await o.resourceDiscoveryRequest(mcp, here));
const issuer = new URL(resource.authorization_servers[0]);
const as = await o.processDiscoveryResponse(
  issuer, await o.discoveryRequest(issuer, { algorithm: "oauth2", ...here }));
found.issuer = as.issuer;

async function register(metadata) {
  const given = { client_name: "strict", token_endpoint_auth_method: "none", ...metadata };
  return o.processDynamicClientRegistrationResponse(
    await o.dynamicClientRegistrationRequest(as, given, here));
}

async function refusal(work) {
  return work().then(() => "nothing was refused", (error) => error.error ?? error.message);
}

// ---- a code, with another port than was registered
const client = await register({
  redirect_uris: ["http://127.0.0.1:1234/callback"],
  grant_types: ["authorization_code", "refresh_token"],
});
const none = o.None();
const more = { additionalParameters: { resource: String(mcp) }, ...here };

async function ask(decision) {
  const verifier = o.generateRandomCodeVerifier();
  const state = o.generateRandomState();
  const page = new URL(as.authorization_endpoint);
  page.search = new URLSearchParams({
    client_id: client.client_id, redirect_uri: redirect, response_type: "code", state,
    scope: "project data", resource: String(mcp), code_challenge_method: "S256",
    code_challenge: await o.calculatePKCECodeChallenge(verifier),
  });
  const answer = await agree(page, as.authorization_endpoint, cookie, decision);
  const params = o.validateAuthResponse(as, client, new URL(answer.headers.get("location")), state);
  const redeem = async () => o.processAuthorizationCodeResponse(
    as, client,
    await o.authorizationCodeGrantRequest(as, client, none, params, redirect, verifier, more));
  return redeem;
}

found.denied = await refusal(() => ask("deny"));
const tokens = await (await ask("approve"))();
found.scope = tokens.scope;
const refresh = async (key) => o.processRefreshTokenResponse(
  as, client, await o.refreshTokenGrantRequest(as, client, none, key, here));
const next = await refresh(tokens.refresh_token);
found.rotated = next.refresh_token !== tokens.refresh_token;
await o.processRevocationResponse(
  await o.revocationRequest(as, client, none, next.access_token, here));
found.revoked = await refusal(() => refresh(next.refresh_token));
const again = await ask("approve");
await again();
found.replayed = await refusal(again);

// ---- a device
const screen = await register({ grant_types: [device, "refresh_token"] });
const begun = await o.processDeviceAuthorizationResponse(
  as, screen, await o.deviceAuthorizationRequest(as, screen, none, { scope: "project" }, here));
const poll = async () => o.processDeviceCodeResponse(
  as, screen, await o.deviceCodeGrantRequest(as, screen, none, begun.device_code, here));
found.pending = await refusal(poll);
await agree(begun.verification_uri_complete, begun.verification_uri, cookie);
found.device = (await poll()).scope;
found.spent = await refusal(poll);
console.log(JSON.stringify(found));
