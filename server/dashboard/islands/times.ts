// <bb-times>: shows the UTC times of the page in local time. Its <template> names the time zone.
import { showLocally } from "../shared/times.ts";

class Times extends HTMLElement {
  connectedCallback(): void {
    showLocally(document);
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const text = this.querySelector("template")?.content.textContent ?? "";
    this.textContent = text.trim().replace("{zone}", timeZone.replaceAll("_", " "));
  }
}

customElements.define("bb-times", Times);
