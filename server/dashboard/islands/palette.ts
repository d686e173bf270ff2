// <bb-palette src>: Ctrl-K opens a dialog that finds pages and resources. The link inside does the
// same with a page. The entries are requested once; if there are too many, the server searches.
import "./palette.css";
import { load, rank, type Entry, type Result } from "../shared/search.ts";

const SHOWN = 50;

class Palette extends HTMLElement {
  #dialog!: HTMLDialogElement;
  #input!: HTMLInputElement;
  #list!: HTMLElement;
  #hint!: HTMLElement;
  #all?: Result;
  #chosen = 0;
  #search = new AbortController();

  connectedCallback(): void {
    const template = this.querySelector("template");
    if (!template) return;
    this.append(template.content.cloneNode(true));
    this.#dialog = this.querySelector("dialog")!;
    this.#input = this.querySelector("input")!;
    this.#list = this.querySelector("[role=listbox]")!;
    this.#hint = this.querySelector("[role=status]")!;
    this.#listen();
  }

  #listen(): void {
    document.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        void this.#open();
      }
    });
    this.#link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      void this.#open();
    });
    this.#link.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
    this.#input.addEventListener("input", () => void this.#update());
    this.#input.addEventListener("keydown", (event) => this.#press(event));
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close(); // outside of its content
    });
  }

  get #link(): HTMLAnchorElement {
    return this.querySelector("a")!;
  }

  async #open(): Promise<void> {
    if (this.#dialog.open) return;
    this.#dialog.showModal();
    this.#input.select();
    await this.#update();
  }

  async #update(): Promise<void> {
    this.#search.abort();
    this.#search = new AbortController();
    const { signal } = this.#search;
    try {
      const src = this.getAttribute("src")!;
      this.#all ??= await load(src, "", signal);
      const isComplete = this.#all.total === this.#all.entries.length;
      const words = this.#input.value;
      const found = isComplete ? rank(this.#all.entries, words) : (await load(src, words, signal)).entries;
      if (!signal.aborted) this.#show(found.slice(0, SHOWN));
    } catch {
      if (!signal.aborted) location.assign(this.#link.href); // the page explains the failure
    }
  }

  #show(entries: readonly Entry[]): void {
    this.#list.replaceChildren(...entries.map(createOption));
    this.#hint.textContent = this.#hint.dataset[entries.length ? "some" : "none"] ?? "";
    this.#choose(0);
  }

  #press(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      this.#choose(this.#chosen + step);
    } else if (event.key === "Enter") {
      event.preventDefault();
      (this.#list.children[this.#chosen] as HTMLElement | undefined)?.click();
    }
  }

  #choose(index: number): void {
    const options = [...this.#list.children];
    this.#chosen = options.length ? (index + options.length) % options.length : 0;
    options.forEach((option, place) => (option.ariaSelected = String(place === this.#chosen)));
    const chosen = options[this.#chosen];
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) this.#input.setAttribute("aria-activedescendant", chosen.id);
    else this.#input.removeAttribute("aria-activedescendant");
  }
}

function createOption(entry: Entry, index: number): HTMLAnchorElement {
  const option = document.createElement("a");
  option.id = `palette-${index}`;
  option.role = "option";
  option.href = entry.url;
  option.tabIndex = -1;
  option.append(createText(entry.text, ""), createText(entry.detail ?? "", "faint"), createText(entry.kind, "kind"));
  return option;
}

function createText(text: string, style: string): HTMLSpanElement {
  const span = document.createElement("span");
  span.dir = "auto";
  span.className = style;
  span.textContent = text;
  return span;
}

customElements.define("bb-palette", Palette);
