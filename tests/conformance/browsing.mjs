// Both TypeScript clients sign in by themselves when a tool asks. node browsing.mjs URL COOKIE
import * as old from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as now from "@modelcontextprotocol/client";
import { agree } from "./agree.mjs";

const [url, cookie] = process.argv.slice(2);
const callback = "http://127.0.0.1:7777/callback";
const kinds = {
  "1.32": [old.Client, StreamableHTTPClientTransport],
  "2.4": [now.Client, now.StreamableHTTPClientTransport],
};

// What a program keeps of its sign-in, and a person who agrees to everything.
class Provider {
  kept = {};
  redirectUrl = callback;
  clientMetadata = {
    client_name: "TypeScript", redirect_uris: [callback], token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
  };
  state = () => "s";
  clientInformation = () => this.kept.client;
  saveClientInformation = (client) => { this.kept.client = client; };
  tokens = () => this.kept.tokens;
  saveTokens = (tokens) => { this.kept.tokens = tokens; };
  codeVerifier = () => this.kept.verifier;
  saveCodeVerifier = (verifier) => { this.kept.verifier = verifier; };
  discoveryState = () => this.kept.discovery;
  saveDiscoveryState = (discovery) => { this.kept.discovery = discovery; };
  async redirectToAuthorization(page) {
    const answer = await agree(page, new URL("/oauth/authorize", page), cookie);
    this.answer = new URL(answer.headers.get("location")).searchParams;
  }
}

const found = {};
for (const [name, [Client, Transport]] of Object.entries(kinds)) {
  const provider = new Provider();
  const transport = new Transport(new URL(url), { authProvider: provider });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  await client.callTool({ name: "platform_help", arguments: {} });
  const list = { name: "project_list", arguments: {} };
  const refused = await client.callTool(list).then(() => "", (error) => error.constructor.name);
  await transport.finishAuth(name === "2.4" ? provider.answer : provider.answer.get("code"));
  const projects = (await client.callTool(list)).structuredContent.projects;
  const { client_secret: secret = null } = provider.kept.client;
  found[name] = { refused, scope: provider.kept.tokens.scope, secret, projects: projects.length };
}
console.log(JSON.stringify(found));
process.exit(0);
