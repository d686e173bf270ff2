const SILENT_MILLISECONDS = 60_000;
const ACCEPTED = "text/event-stream, application/json";

/** Read an answer that goes on, event by event; leaving the loop ends it at the server, too. */
async function* stream<Event>(
  connection: Connection,
  operation: Operation,
  given: Given,
  options: CallOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const left = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal;
  try {
    const headers = { accept: ACCEPTED, ...given.headers, ...options.headers };
    const response = await connection.open(operation, { ...given, headers }, signal);
    if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
      yield { event: "done", data: await bodyOf(response) } as Event;
      return;
    }
    for await (const one of eventsOf(response, left)) {
      if (one.event === "error") throw new ApiError(operation.id, response, { error: one.data });
      yield one as Event;
      if (one.event === "done") return;
    }
    const message = "the answer ended in the middle";
    throw new ApiError(operation.id, response, { error: { code: "cutOff", message } });
  } finally {
    left.abort();
  }
}

interface SentEvent {
  event: string;
  data: unknown;
}

async function* eventsOf(
  response: Response,
  left: AbortController,
): AsyncGenerator<SentEvent, void, undefined> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let event = "";
  while (reader) {
    const timer = setTimeout(() => left.abort(), SILENT_MILLISECONDS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const lines = (text + decoder.decode(value, { stream: true })).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("event: ")) event = line.slice(7);
      else if (line.startsWith("data: ")) yield { event, data: JSON.parse(line.slice(6)) };
    }
  }
}
