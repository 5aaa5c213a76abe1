// Calls to the service, by addresses relative to the page: a proxy may show it under any path. An error of the service
// becomes an Error with its text.

import { byId } from "./dom.js";

const KEY = "wordferry-token";
const FIELD = /^(?:(?:texts|like|text|a|b|distances?)(?:\.\d+)?(?:, )?)+: /;

export const search = (body, signal) => call("POST", "api/search", body, signal);
export const similar = (body, signal) => call("POST", "api/similar", body, signal);
export const distance = (body, signal) => call("POST", "api/distance", body, signal);
export const explain = (body, signal) => call("POST", "api/explain", body, signal);
export const related = (word, signal) => call("GET", `api/related?word=${encodeURIComponent(word)}`, null, signal);
export const stored = (id, signal) => call("GET", `api/documents/${id.split("/").map(encodeURIComponent).join("/")}`, null, signal);
export const stats = () => call("GET", "api/stats");
export const fields = () => call("GET", "api/fields");

export async function call(method, path, body = null, signal = undefined) {
  for (;;) {
    const headers = { accept: "application/json" };
    const token = sessionStorage.getItem(KEY);
    if (token) headers.authorization = `Bearer ${token}`;
    if (body) headers["content-type"] = "application/json";
    let answer;
    try {
      answer = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The service does not answer. Is it still running?");
    }
    const plain = answer.headers.get("content-type")?.startsWith("text/plain");
    const value = await (plain ? answer.text() : answer.json().catch(() => ({})));
    if (answer.status === 401 && (await askForToken(token ? value.error : ""))) continue;
    if (!answer.ok) throw new Error(forPeople(value.error) || `The service answered ${answer.status}.`);
    return value;
  }
}

/** An error without the names of the request's fields, which nobody sees on the page. */
function forPeople(text = "") {
  const plain = text.replace(FIELD, "");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** Ask for a token, with the reason why the one given before was refused; false when none was given. */
function askForToken(reason) {
  const dialog = byId("token");
  if (dialog.open) return Promise.resolve(false);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const value = byId("token-value").value.trim();
      if (value) sessionStorage.setItem(KEY, value);
      resolve(Boolean(value));
    }, { once: true });
    byId("token-reason").textContent = reason ?? "";
    byId("token-reason").hidden = !reason;
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
