// A stream of server-sent events that is open only while the page is visible.

/** Return the URL to open; it is called each time, since `after` changes. */
type Address = () => string;
type Handlers = Record<string, (data: unknown) => void>;

/** A switchable stream. The browser connects again by itself; an HTTP error ends it. */
export class Stream {
  #source: EventSource | undefined;
  #isOn = true;

  constructor(
    private readonly address: Address,
    private readonly handlers: Handlers,
    private readonly ended: () => void = () => {},
  ) {
    document.addEventListener("visibilitychange", () => this.#update());
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", () => this.#update());
    this.#update();
  }

  /** Open or close the stream for good, whatever the page does. */
  switch(isOn: boolean): void {
    this.#isOn = isOn;
    this.#update();
  }

  #update(): void {
    if (!this.#isOn || document.hidden) this.#close();
    else if (!this.#source) this.#open();
  }

  #open(): void {
    const source = (this.#source = new EventSource(this.address()));
    for (const [event, handle] of Object.entries(this.handlers)) {
      source.addEventListener(event, ({ data }: MessageEvent<string>) => handle(JSON.parse(data)));
    }
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED || this.#source !== source) return;
      this.switch(false);
      this.ended();
    });
  }

  #close(): void {
    this.#source?.close();
    this.#source = undefined;
  }
}
