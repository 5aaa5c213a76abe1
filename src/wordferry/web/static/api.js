// Calls to the service. An error of the service becomes an Error with its text.

import { byId } from "./dom.js";

const KEY = "wordferry-token";

export const search = (body, signal) => call("POST", "/api/search", body, signal);
export const distance = (body, signal) => call("POST", "/api/distance", body, signal);
export const explain = (body, signal) => call("POST", "/api/explain", body, signal);
export const related = (word, signal) => call("GET", `/api/related?word=${encodeURIComponent(word)}`, null, signal);
export const stats = () => call("GET", "/api/stats");

async function call(method, path, body = null, signal = undefined) {
  for (;;) {
    const headers = { accept: "application/json" };
    const token = sessionStorage.getItem(KEY);
    if (token) headers.authorization = `Bearer ${token}`;
    if (body) headers["content-type"] = "application/json";
    const answer = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
    if (answer.status === 401 && (await askForToken())) continue;
    const value = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(value.error || `The service answered ${answer.status}.`);
    return value;
  }
}

/** Ask for a token; false when none was given. */
function askForToken() {
  const dialog = byId("token");
  if (dialog.open) return Promise.resolve(false);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const value = byId("token-value").value.trim();
      if (value) sessionStorage.setItem(KEY, value);
      resolve(Boolean(value));
    }, { once: true });
    byId("token-value").value = "";
    dialog.showModal();
  });
}

/** A function that calls another once things have been quiet for a while. */
export function debounced(work, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}
