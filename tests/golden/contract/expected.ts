// The client of 'notebook', written by bbops from its contract.
// Contract a3c8b44576e3. Do not change it: write it again.
/* eslint-disable */

/** What came along with a failed call, and what the project answered. */
export class ApiError<Body = unknown> extends Error {
  override readonly name = "ApiError";
  /** Of the call that failed: `notes.list`. */
  readonly operation: string;
  readonly status: number;
  readonly body: Body;
  /** For programs; empty where the project's answer has none. */
  readonly code: string;
  readonly requestId: string | null;
  /** How long to wait before the next try. */
  readonly retryAfterSeconds: number | null;

  constructor(operation: string, response: Response, body: Body) {
    const said = (body as { error?: unknown } | null | undefined)?.error;
    const error = (typeof said === "object" && said !== null ? said : {}) as Record<string, unknown>;
    const fallback = typeof said === "string" ? said : `${operation}: status ${response.status}`;
    super(String(error["message"] ?? fallback));
    this.operation = operation;
    this.status = response.status;
    this.body = body;
    this.code = String(error["code"] ?? "");
    this.requestId = response.headers.get("x-request-id");
    const wait = response.headers.get("retry-after");
    this.retryAfterSeconds = wait === null ? null : Number(wait);
  }
}

/** Whether a call failed with a status; its body is then typed. */
export function isApiError<Id extends keyof Errors, Status extends keyof Errors[Id] & number>(
  error: unknown,
  operation: Id,
  status: Status,
): error is ApiError<Errors[Id][Status]> {
  return error instanceof ApiError && error.operation === operation && error.status === status;
}

export interface Tokens {
  token: string;
  refreshToken: string | null;
}

/** Where tokens are kept. Without one they live as long as the connection. */
export interface TokenStore {
  get(): Tokens | null | Promise<Tokens | null>;
  set(tokens: Tokens | null): void | Promise<void>;
}

export interface ConnectionOptions {
  /** Where the project answers: `https://api.example.com`. */
  baseUrl?: string;
  tokens?: TokenStore;
  /** For channels that ask for one; keep it out of browsers. */
  apiKey?: string;
  /** Called when a session has ended and could not be refreshed. */
  onSignedOut?: () => void;
  /** Of one try; 30,000 if left out. */
  timeoutMilliseconds?: number;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

interface Operation {
  id: string;
  method: string;
  path: string;
  form?: true;
  token?: true;
  key?: true;
  deep?: readonly string[];
  reads?: "text" | "blob";
}

interface SessionContract {
  starts: readonly string[];
  refresh: Operation | null;
  ends: string | null;
  tokenField: string;
  refreshField: string;
  scheme: string;
  cookie: boolean;
  csrfHeader: string | null;
}

interface Given {
  params?: Record<string, unknown>;
  query?: object;
  headers?: object;
  body?: unknown;
}

/** A connection to the project: who is signed in, and how calls are sent. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #baseUrl: string;
  #tokens: Tokens | null = null;
  #csrf: string | null = null;
  #refreshing: Promise<boolean> | null = null;

  constructor(options: ConnectionOptions = {}) {
    this.#options = options;
    const baseUrl = options.baseUrl ?? SERVER;
    if (!baseUrl) throw new TypeError("say where the project answers: baseUrl");
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
  }

  /** Return the tokens of who is signed in; null by cookie, and where nobody is. */
  async tokens(): Promise<Tokens | null> {
    return this.#options.tokens ? await this.#options.tokens.get() : this.#tokens;
  }

  /** Sign in with tokens that came another way, or forget them. */
  async setTokens(tokens: Tokens | null): Promise<void> {
    this.#tokens = tokens;
    await this.#options.tokens?.set(tokens);
  }

  /** Return the address of a path of the project. */
  address(path: string): string {
    return this.#baseUrl + path;
  }

  /** Send a call; the functions of `client` do. */
  async call<Answer>(operation: Operation, given: Given, options: CallOptions = {}): Promise<Answer> {
    const used = operation.token ? await this.tokens() : null;
    let response = await this.#send(operation, given, options, used);
    if (response.status === 401 && operation.token && (await this.#refresh(used))) {
      response = await this.#send(operation, given, options, await this.tokens());
    }
    return (await this.#read(operation, response)) as Answer;
  }

  /** Send a call whose answer goes on; the functions of `topics` do. */
  async open(operation: Operation, given: Given, signal: AbortSignal): Promise<Response> {
    const used = operation.token ? await this.tokens() : null;
    let response = await this.#send(operation, given, { signal }, used, false);
    if (response.status === 401 && operation.token && (await this.#refresh(used))) {
      response = await this.#send(operation, given, { signal }, await this.tokens(), false);
    }
    if (!response.ok) throw await failure(operation, response);
    return response;
  }

  async #send(
    operation: Operation,
    given: Given,
    options: CallOptions,
    tokens: Tokens | null,
    isBounded = true,
  ): Promise<Response> {
    const headers = new Headers({ ...texts(given.headers), ...options.headers });
    if (tokens) headers.set("authorization", `${SESSION.scheme} ${tokens.token}`);
    if (operation.key && this.#options.apiKey) headers.set("x-api-key", this.#options.apiKey);
    const csrf = operation.method === "GET" ? null : this.#csrfToken();
    if (csrf && SESSION.csrfHeader && SESSION.cookie) headers.set(SESSION.csrfHeader, csrf);
    const init: RequestInit = { method: operation.method, headers };
    if (SESSION.cookie) init.credentials = "include";
    if (given.body !== undefined) {
      if (operation.form) init.body = formOf(given.body as object);
      else {
        headers.set("content-type", "application/json");
        init.body = JSON.stringify(given.body);
      }
    }
    const limit = this.#options.timeoutMilliseconds ?? 30_000;
    const signals = [options.signal, isBounded ? AbortSignal.timeout(limit) : undefined];
    init.signal = AbortSignal.any(signals.filter((one) => one !== undefined));
    const send = this.#options.fetch ?? fetch;
    return await send(this.address(addressOf(operation.path, given, operation.deep)), init);
  }

  async #read(operation: Operation, response: Response): Promise<unknown> {
    if (!response.ok) throw await failure(operation, response);
    if (SESSION.csrfHeader) this.#csrf = response.headers.get(SESSION.csrfHeader) ?? this.#csrf;
    const answer = await bodyOf(response, operation.reads);
    if (SESSION.starts.includes(operation.id)) await this.#signIn(answer);
    if (SESSION.ends === operation.id) await this.#signOut();
    return answer;
  }

  async #signIn(answer: unknown): Promise<void> {
    const found = (answer ?? {}) as Record<string, unknown>;
    const token = found[SESSION.tokenField];
    if (typeof token !== "string") return;
    const refresh = found[SESSION.refreshField];
    const kept = (await this.tokens())?.refreshToken ?? null;
    await this.setTokens({ token, refreshToken: typeof refresh === "string" ? refresh : kept });
  }

  async #signOut(): Promise<void> {
    this.#csrf = null;
    await this.setTokens(null);
  }

  /** Get a new token once for all calls that wait for it; false where that is not possible. */
  async #refresh(used: Tokens | null): Promise<boolean> {
    const now = await this.tokens();
    if (used && now && now.token !== used.token) return true;
    const refresh = SESSION.refresh;
    if (!refresh || !(now?.refreshToken || SESSION.cookie)) return false;
    this.#refreshing ??= this.#renew(refresh, now).finally(() => {
      this.#refreshing = null;
    });
    return await this.#refreshing;
  }

  async #renew(refresh: Operation, tokens: Tokens | null): Promise<boolean> {
    const body = tokens?.refreshToken ? { [SESSION.refreshField]: tokens.refreshToken } : {};
    const response = await this.#send(refresh, { body }, {}, null);
    if (response.ok) {
      await this.#read(refresh, response);
      return true;
    }
    if (response.status < 500 && response.status !== 429) {
      await this.#signOut();
      this.#options.onSignedOut?.();
    }
    return false;
  }

  #csrfToken(): string | null {
    const page = (globalThis as { document?: { cookie: string } }).document;
    const found = page?.cookie.match(/(?:^|; )csrf=([^;]*)/);
    return found ? decodeURIComponent(found[1] ?? "") : this.#csrf;
  }
}

function texts(values: object | undefined): Record<string, string> {
  const given = Object.entries(values ?? {}).filter(([, value]) => value != null);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** Return what a parameter sends: its fields by names in brackets, or itself. */
function spread(name: string, value: unknown, deep: readonly string[]): [string, unknown][] {
  if (!deep.includes(name) || value === null || typeof value !== "object" || Array.isArray(value)) {
    return [[name, value]];
  }
  return Object.entries(value).map(([field, one]) => [`${name}[${field}]`, one]);
}

function addressOf(path: string, given: Given, deep: readonly string[] = []): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = String(given.params?.[name] ?? "");
    if (value === "" || value === "." || value === "..") {
      throw new TypeError(`'${name}' of ${path} cannot be '${value}'`);
    }
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given.query ?? {})) {
    for (const [inner, each] of spread(name, value, deep)) {
      for (const one of Array.isArray(each) ? each : [each]) {
        if (one != null) query.append(inner, String(one));
      }
    }
  }
  const text = query.toString();
  return text ? `${filled}?${text}` : filled;
}

function formOf(values: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one == null) continue;
      if (one instanceof Blob) form.append(name, one);
      else form.append(name, typeof one === "object" ? JSON.stringify(one) : String(one));
    }
  }
  return form;
}

async function bodyOf(response: Response, reads?: "text" | "blob"): Promise<unknown> {
  if (reads === "blob") return await response.blob();
  const text = await response.text();
  if (reads === "text") return text;
  if (text === "") return undefined;
  return /[/+]json\b/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : text;
}

async function failure(operation: Operation, response: Response): Promise<ApiError> {
  const body = await bodyOf(response).catch(() => undefined);
  return new ApiError(operation.id, response, body);
}

const SERVER = "";

const SESSION: SessionContract = {
  refresh: null,
  starts: ["auth.login"],
  ends: null,
  tokenField: "token",
  refreshField: "refreshToken",
  scheme: "Bearer",
  cookie: false,
  csrfHeader: null,
};

export type ErrorBody = { error: { code: string; message: string; fields?: Record<string, Array<string>>; requestId?: string } };

export type NotesGetAnswer = { id: number; title: string; done: boolean };

export type RateLimited = { problem: string };

export type AuthLoginInput = { email: string; password: string };
export type AuthLoginAnswer = { token: string };

export type NotesListQuery = { done?: boolean; id?: number | { eq?: number; gte?: number; in?: Array<number> } };
export type NotesListAnswer = { notes: Array<NotesGetAnswer> };


/** What calls fail with: the project's answer by call and status. */
export interface Errors {
  "auth.login": { 400: ErrorBody; 401: ErrorBody; 413: ErrorBody; 415: ErrorBody; 429: RateLimited; 500: ErrorBody; 503: ErrorBody };
  "notes.list": { 400: ErrorBody; 401: ErrorBody; 429: RateLimited; 500: ErrorBody; 503: ErrorBody };
  "notes.get": { 400: ErrorBody; 401: ErrorBody; 404: ErrorBody; 429: RateLimited; 500: ErrorBody; 503: ErrorBody };
}

/** Every call of the project, by name space. */
export function client(connection: Connection) {
  return {
    auth: {
      /**
       * Exchange email and password for a token.
       * POST /login
       */
      login: (body: AuthLoginInput, options?: CallOptions): Promise<AuthLoginAnswer> =>
        connection.call({ id: "auth.login", method: "POST", path: "/login" }, { body }, options),
    },
    notes: {
      /**
       * One note.
       * GET /v1/notes/{id}
       */
      get: (id: number, options?: CallOptions): Promise<NotesGetAnswer> =>
        connection.call({ id: "notes.get", method: "GET", path: "/v1/notes/{id}", token: true }, { params: { id } }, options),
      /**
       * Notes, the oldest first.
       * GET /v1/notes
       */
      list: (query: NotesListQuery = {}, options?: CallOptions): Promise<NotesListAnswer> =>
        connection.call({ id: "notes.list", method: "GET", path: "/v1/notes", token: true, deep: ["id"] }, { query }, options),
    },
  };
}

export type Client = ReturnType<typeof client>;

export interface ListenOptions {
  /** Ends the subscription. */
  signal?: AbortSignal;
  /** Called each time it begins: also after a cut. */
  onOpen?: () => void;
  /** Called where messages were missed that are not kept any more: read anew what you show. */
  onReset?: () => void;
}

const QUIET_MILLISECONDS = 60_000;
const LONGEST_PAUSE_MILLISECONDS = 20_000;
const MOST_CHARACTERS = 1 << 20;

/** Read a topic, come back after a cut, and go on where that was; ends with an error that stays. */
async function* listen<Message>(
  connection: Connection,
  operation: Operation,
  given: Given,
  options: ListenOptions = {},
): AsyncGenerator<Message, void, undefined> {
  let last = "";
  let tries = 0;
  while (!options.signal?.aborted) {
    const quiet = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, quiet.signal]) : quiet.signal;
    const watch = () => setTimeout(() => quiet.abort(), QUIET_MILLISECONDS);
    let timer = watch();
    let wait = 0;
    try {
      const headers = last ? { "last-event-id": last } : {};
      const response = await connection.open(operation, { ...given, headers }, signal);
      options.onOpen?.();
      tries = 0;
      for await (const line of linesOf(response)) {
        clearTimeout(timer);
        timer = watch();
        if (line.startsWith("id: ")) last = line.slice(4);
        else if (line === "event: reset") options.onReset?.();
        else if (line.startsWith("data: {\"event\"")) yield JSON.parse(line.slice(6)) as Message;
      }
    } catch (error) {
      if (options.signal?.aborted) return;
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
      if (error instanceof ApiError) wait = 1000 * (error.retryAfterSeconds ?? 0);
    } finally {
      clearTimeout(timer);
      quiet.abort();
    }
    const pause = Math.min(LONGEST_PAUSE_MILLISECONDS, 250 * 2 ** tries++) * (0.5 + Math.random() / 2);
    await rest(Math.max(pause, wait), options.signal);
  }
}

async function* linesOf(response: Response): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (reader) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (text + decoder.decode(value, { stream: true })).split("\n");
    text = lines.pop() ?? "";
    if (text.length > MOST_CHARACTERS) throw new Error("a message is too long");
    for (const line of lines) yield line.replace(/\r$/, "");
  }
}

function rest(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}

export type NotesMessage = { event: "note.written"; payload: { id: number; text?: string } };

/** Every topic: `for await (const message of topics(connection).…)` reads it. */
export function topics(connection: Connection) {
  return {
    /** Notes of a tag, as they are written. tags/{tag}/notes */
    notes: (tag_: string, options?: ListenOptions): AsyncGenerator<NotesMessage> =>
      listen<NotesMessage>(connection, { id: "topics.notes", method: "GET", path: "/~realtime/tags/{tag}/notes" }, { params: { tag: tag_ } }, options),
  };
}

export type Topics = ReturnType<typeof topics>;

/** A message that the project did not sign, or signed too long ago. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

const TOLERANCE_SECONDS = 300;

/** Return a message whose signature fits one of the secrets, as Standard Webhooks says. */
async function verified<Message>(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  body: string,
): Promise<Message> {
  const find = (name: string) =>
    String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const [id, at] = [find("webhook-id"), find("webhook-timestamp")];
  if (!id || !/^[0-9]{1,12}$/.test(at)) throw new WebhookError("a header is missing");
  if (Math.abs(Date.now() / 1000 - Number(at)) > TOLERANCE_SECONDS) {
    throw new WebhookError("it was signed too long ago");
  }
  const signed = new TextEncoder().encode(`${id}.${at}.${body}`);
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const raw = bytesOf(secret.replace(/^whsec_/, ""));
    const key = await crypto.subtle.importKey("raw", raw, hmac, false, ["verify"]);
    for (const one of find("webhook-signature").split(" ").slice(0, 10)) {
      const signature = one.startsWith("v1,") ? bytesOf(one.slice(3)) : null;
      if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
        return JSON.parse(body) as Message;
      }
    }
  }
  throw new WebhookError("the signature does not fit");
}

function bytesOf(base64: string) {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch {
    throw new WebhookError("a signature or secret is not base64");
  }
}

export type ReadersWebhook = { type: "note.gone"; timestamp: string; data: { id: string } } | { type: "note.written"; timestamp: string; data: { id: string; title: string } };

/** Verify what a webhook sends: the message, or a `WebhookError`. */
export const webhooks = {
  readers: (secret: string | readonly string[], headers: WebhookHeaders, body: string): Promise<ReadersWebhook> =>
    verified<ReadersWebhook>(secret, headers, body),
};
