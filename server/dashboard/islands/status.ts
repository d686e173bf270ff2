// <bb-status src>: shows that the state or the live commit of the project has changed.
import { Stream } from "../shared/stream.ts";

type State = { state: string; revision: string };

class Status extends HTMLElement {
  connectedCallback(): void {
    new Stream(() => this.getAttribute("src")!, { status: (data) => this.#show(data as State) });
  }

  #show({ state, revision }: State): void {
    const pill = document.querySelector("[data-part=state] > *");
    if (pill) [pill.className, pill.textContent] = [`pill ${state}`, state];
    const isSame = state === this.dataset["state"] && revision === this.dataset["revision"];
    this.querySelector("[role=status]")?.remove();
    if (!isSame) this.append(this.#notice(state));
  }

  #notice(state: string): DocumentFragment {
    const notice = this.querySelector("template")!.content.cloneNode(true) as DocumentFragment;
    const text = notice.querySelector("p")!;
    text.textContent = (text.textContent ?? "").replace("{state}", state);
    return notice;
  }
}

customElements.define("bb-status", Status);
