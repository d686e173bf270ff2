// Shows the description that stands in the page: this frame has no session, and may ask for none.
const view = document.querySelector("rapi-doc");
const isDark = matchMedia("(prefers-color-scheme: dark)");
const colours = () => {
  const given = isDark.matches
    ? { theme: "dark", "bg-color": "#121517", "text-color": "#e8ebe8", "primary-color": "#7cc7d8",
        "nav-bg-color": "#171b1e", "nav-text-color": "#a2acb3", "nav-hover-text-color": "#e8ebe8" }
    : { theme: "light", "bg-color": "#ffffff", "text-color": "#1a1f24", "primary-color": "#0b5f74",
        "nav-bg-color": "#f7f8f6", "nav-text-color": "#59636d", "nav-hover-text-color": "#1a1f24" };
  for (const [name, value] of Object.entries(given)) view.setAttribute(name, value);
};
colours();
isDark.addEventListener("change", colours);
view.loadSpec(JSON.parse(document.querySelector("#description").textContent));
