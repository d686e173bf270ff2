// <bb-live src>: adds new requests to the table inside, while the page is visible and not paused.
import { Stream } from "../shared/stream.ts";
import { showLocally } from "../shared/times.ts";

const MOST_ROWS = 200;

type Row = Record<string, string | number | null> & { id: number; at: string; status: number };
type Beat = { rows: Row[]; skipped: number };

class Live extends HTMLElement {
  #last = 0;
  #stream!: Stream;
  #switch: HTMLButtonElement | undefined;

  connectedCallback(): void {
    const url = new URL(this.getAttribute("src")!, location.href);
    this.#last = Number(url.searchParams.get("after"));
    this.#addSwitch();
    this.#stream = new Stream(
      () => {
        url.searchParams.set("after", String(this.#last));
        return url.href;
      },
      { requests: (data) => this.#show(data as Beat) },
      () => this.#switch?.remove(),
    );
  }

  #part(name: string): HTMLElement | null {
    return this.querySelector(`[data-part=${name}]`);
  }

  #copy(name: string): HTMLElement {
    const template = this.#part(name) as HTMLTemplateElement;
    return template.content.firstElementChild!.cloneNode(true) as HTMLElement;
  }

  #addSwitch(): void {
    const button = (this.#switch = this.#copy("switch") as HTMLButtonElement);
    button.addEventListener("click", () => {
      const isOn = button.ariaPressed !== "true";
      button.ariaPressed = String(isOn);
      this.#stream.switch(isOn);
    });
    this.#part("switch")!.after(button);
  }

  #show({ rows, skipped }: Beat): void {
    const fresh = rows.filter(({ id }) => id > this.#last); // a request may come twice
    const body = this.querySelector("tbody")!;
    if (skipped && fresh.length) body.prepend(this.#count(skipped));
    for (const row of fresh) {
      body.prepend(this.#fill(row));
      this.#last = row.id;
    }
    while (body.rows.length > MOST_ROWS) body.deleteRow(-1);
    if (!fresh.length) return;
    showLocally(body);
    this.querySelector<HTMLElement>(".card")!.hidden = false;
    this.#part("empty")?.remove();
  }

  #count(skipped: number): HTMLElement {
    const row = this.#copy("skipped");
    const text = row.querySelector("td")!.firstChild!;
    text.textContent = (text.textContent ?? "").replace("{count}", skipped.toLocaleString("en"));
    return row;
  }

  #fill(row: Row): HTMLElement {
    const filled = this.#copy("row");
    for (const slot of filled.querySelectorAll<HTMLElement>("[data-slot]")) {
      slot.textContent = String(row[slot.dataset["slot"]!] ?? "");
    }
    for (const link of filled.querySelectorAll<HTMLAnchorElement>("[data-href]")) {
      const url = row[link.dataset["href"]!];
      if (url) link.href = String(url);
    }
    const time = filled.querySelector("time")!;
    time.dateTime = row.at;
    time.textContent = `${row.at.slice(0, 10)} ${row.at.slice(11, 19)}`;
    filled.querySelector("[data-slot=status]")!.className = `status s${Math.floor(row.status / 100)}`;
    filled.querySelector("[data-slot=method]")!.className = `method ${row["method"]}`;
    filled.querySelector("[data-slot=milliseconds]")!.textContent = Number(row["milliseconds"]).toFixed(1);
    return filled;
  }
}

customElements.define("bb-live", Live);
