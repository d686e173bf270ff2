// What somebody who builds a frontend does with the client; run by Node, checked by tsc.
import { ApiError, Connection, WebhookError, client, isApiError, topics, webhooks } from "./client.ts";
import type { WrittenNotesMessage } from "./client.ts";

declare const process: { argv: string[] };

function expect(found: unknown, wanted: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`found ${left}, expected ${right}`);
}

async function failure(call: Promise<unknown>): Promise<ApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

const baseUrl = process.argv[2] ?? "";
let isSignedOut = false;
const connection = new Connection({ baseUrl, onSignedOut: () => (isSignedOut = true) });
const api = client(connection);

const nobody = await failure(api.notes.list());
expect([nobody.status, nobody.code, nobody.operation], [401, "unauthorized", "notes.list"]);

const ada = { email: "ada@example.com", password: "correct horse" };
await api.auth.register(ada);
expect(typeof (await connection.tokens())?.refreshToken, "string");

const made = await api.notes.create({ title: "Buy milk & <tea>?", tag: "home" });
const title: string = made.title;
expect([made.id, title, made.tag], [1, "Buy milk & <tea>?", "home"]);
await api.notes.create({ title: "ß ✓ 🦊" });
expect((await api.notes.list({ tag: ["home", "work"], limit: 5 })).notes.length, 1);
expect((await api.notes.list({ onlyTagged: false })).notes.map((one) => one.title), [title, "ß ✓ 🦊"]);
expect((await api.notes.list({ id: 1 })).notes.map((one) => one.id), [1]);
expect((await api.notes.list({ id: { lt: 2 } })).notes.map((one) => one.id), [1]);
expect((await api.notes.list({ id: { in: [1, 2], eq: 2 } })).notes.map((one) => one.id), [2]);
const sent = new Blob([new Uint8Array([0, 255, 10])], { type: "application/octet-stream" });
const back: Blob = await api.notes.echo({ picture: sent });
expect([...new Uint8Array(await back.arrayBuffer())], [0, 255, 10]);
expect(await api.notes.exportAll(), `${title},ß ✓ 🦊`);

const missing = await failure(api.notes.get(99));
if (!isApiError(missing, "notes.get", 404)) throw new Error("it is typed by its status");
const body = missing.body;
expect("missing" in body ? body.missing : null, 99);
const wrong = await failure(api.notes.create({ title: "" }));
if (!isApiError(wrong, "notes.create", 400)) throw new Error("it is typed by its status");
expect(Object.keys(wrong.body.error.fields ?? {}), ["title"]);

// a token that is no longer good is refreshed once, for all calls that wait
const kept = await connection.tokens();
await connection.setTokens({ token: "gone", refreshToken: kept?.refreshToken ?? "" });
const [one, two] = await Promise.all([api.notes.get(1), api.notes.get(2)]);
expect([one.id, two.id], [1, 2]);
const fresh = await connection.tokens();
if (fresh?.refreshToken === kept?.refreshToken) throw new Error("the refresh token was not rotated");

const { key } = await api.auth.key();
const machine = client(new Connection({ baseUrl, apiKey: key }));
expect(await machine.notes.count(), { notes: 2 });

// a topic is read until its signal says so; what was missed after a cut comes
const leave = new AbortController();
const heard: string[] = [];
let opens = 0;
const onOpen = async (): Promise<void> => {
  opens += 1;
  if (opens === 1) await api.notes.create({ title: "heard", tag: "work" });
};
for await (const message of topics(connection).writtenNotes("work", { signal: leave.signal, onOpen })) {
  if (message.event === "note.counted") throw new Error(`nobody counted ${message.payload.notes}`);
  heard.push(message.payload.title);
  if (heard.length === 1) {
    await fetch(`${baseUrl}/cut`, { method: "POST" });
    await api.notes.create({ title: "missed", tag: "work" });
  } else leave.abort();
}
expect(heard, ["heard", "missed"]);
const typed: WrittenNotesMessage = { event: "note.counted", payload: { notes: 1 } };
expect(typed.event, "note.counted");
const nowhere = topics(new Connection({ baseUrl })).noteRows("nobody").next();
expect((await failure(nowhere)).status, 401);

// an answer that goes on is read event by event, and an error is thrown
const texts: string[] = [];
let model = "";
for await (const one of api.notes.sumUp({ question: "What?" })) {
  if (one.event === "text") texts.push(one.data.text);
  else model = one.data && "model" in one.data ? one.data.model : "";
}
expect([texts, model], [["Hé", "llo\n", "🌍"], "m"]);
const kinds: string[] = [];
const broken = await (async () => {
  for await (const one of api.notes.sumUp({ question: "break" })) kinds.push(one.event);
})().catch((error: unknown) => error);
if (!(broken instanceof ApiError)) throw new Error("an answer that breaks off is an error");
expect([kinds, broken.code, broken.requestId !== null], [["text", "text", "text"], "serverError", true]);
for await (const one of api.notes.sumUp({ question: "" })) expect(one.event, "done");
const refused = await api.notes.sumUp({ question: 5 as unknown as string }).next().catch((error: unknown) => error);
expect(refused instanceof ApiError && refused.status, 400);
for await (const one of api.notes.sumUp({ question: "What?" })) if (one.event === "text") break;

// webhooks are verified with no other package
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const text = JSON.stringify({ type: "note.gone", timestamp: new Date().toISOString(), data: { id: 7 } });
const now = String(Math.floor(Date.now() / 1000));
const raw = Uint8Array.from(atob(secret.slice(6)), (one) => one.charCodeAt(0));
const hmac = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const digest = await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(`msg_1.${now}.${text}`));
const signature = `v1,${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
const signed = { "webhook-id": "msg_1", "webhook-timestamp": now, "webhook-signature": `v1,AAAA ${signature}` };
const told = await webhooks.partnerHook(["whsec_AAAA", secret], signed, text);
if (told.type !== "note.gone") throw new Error("it is typed by its event");
expect(told.data.id, 7);
for (const changed of [{ ...signed, "webhook-id": "msg_2" }, { ...signed, "webhook-timestamp": "1" }, {}]) {
  const refused = await webhooks.partnerHook(secret, changed, text).catch((error: unknown) => error);
  expect(refused instanceof WebhookError, true);
}

expect(await api.notes.delete(2), undefined);
await api.auth.logout({ refreshToken: fresh?.refreshToken ?? "" });
expect(await connection.tokens(), null);
await connection.setTokens({ token: "gone", refreshToken: fresh?.refreshToken ?? "" });
expect([(await failure(api.notes.list())).status, isSignedOut], [401, true]);
expect((await failure(api.auth.login({ ...ada, password: "wrong" }))).message, "Wrong email or password");

const late = new Connection({ baseUrl, timeoutMilliseconds: 5_000 });
const given = new AbortController();
given.abort();
const ended = await client(late).auth.login(ada, { signal: given.signal }).catch((error: unknown) => error);
expect(ended instanceof Error && ended.name, "AbortError");
console.log("done");
