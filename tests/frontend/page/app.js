// A small frontend on another origin than its API, with the client that bbops wrote.
import { ApiError, Connection, client } from "./client.js";

const { baseUrl } = await (await fetch("settings.json")).json();
const connection = new Connection({ baseUrl });
const api = client(connection);
const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const person = () => ({ email: form.elements.email.value, password: form.elements.password.value });
let refreshToken = null;

const doings = {
  "sign-up": () => api.auth.register(person()),
  "sign-in": () => api.auth.login(person()),
  "sign-in-by-token": async () => {
    const found = await api.auth.token(person());
    refreshToken = found.refreshToken;
    await connection.setTokens(found);
    return Object.keys(found);
  },
  "who": () => api.me.get(),
  "upload": () => api.me.picture({ picture: form.elements.picture.files[0] }),
  "refresh": async () => {
    if (refreshToken === null) return await api.auth.refresh();
    const found = await api.auth.renew({ refreshToken });
    refreshToken = found.refreshToken;
    await connection.setTokens(found);
    return "renewed";
  },
  "sign-out": async () => {
    await api.auth.logout(refreshToken === null ? undefined : { refreshToken });
    refreshToken = null;
    return "nobody";
  },
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  status.textContent = "…";
  try {
    const found = await doings[event.submitter.name]();
    status.textContent = `${event.submitter.name}: ${JSON.stringify(found)}`;
  } catch (error) {
    const said = error instanceof ApiError ? `${error.status} ${error.message}` : String(error);
    status.textContent = `${event.submitter.name}: ${said}`;
  }
});
status.textContent = "ready";
