// <bb-theme>: changes the theme without a new page. Its form does the same without scripts.
class Theme extends HTMLElement {
  connectedCallback(): void {
    this.querySelector("form")?.addEventListener("submit", (event) => {
      const button = event.submitter;
      if (!(button instanceof HTMLButtonElement)) return;
      event.preventDefault();
      void this.#choose(event.currentTarget as HTMLFormElement, button);
    });
  }

  async #choose(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
    const body = new URLSearchParams([...new FormData(form, button)] as [string, string][]);
    const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
    if (answer.type !== "opaqueredirect") return location.reload(); // the form has expired
    const root = document.documentElement;
    if (button.value) root.dataset["theme"] = button.value;
    else delete root.dataset["theme"];
    for (const other of form.querySelectorAll("button")) other.ariaPressed = String(other === button);
  }
}

customElements.define("bb-theme", Theme);
