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
