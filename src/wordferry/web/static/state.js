// What the page shows, as the part of its address after '#': it can be bookmarked and sent, and never reaches the
// service's log.

const FIELDS = ["view", "q", "like", "id", "a", "b", "distance", "by", "weights", "filter", "k", "from", "whole"];

/** The state in the address. */
export function read() {
  const values = new URLSearchParams(location.hash.slice(1));
  const state = Object.fromEntries(FIELDS.map((name) => [name, values.get(name) ?? ""]));
  if (state.view !== "compare") state.view = "search";
  return state;
}

/** Put a state into the address; `push` makes a step that the back button undoes. */
export function write(state, push = false) {
  const values = new URLSearchParams();
  for (const name of FIELDS) if (state[name] && !(name === "view" && state.view === "search")) values.set(name, state[name]);
  const address = values.size ? `#${values}` : location.pathname;
  if (address === (location.hash || location.pathname)) return;
  history[push ? "pushState" : "replaceState"](null, "", address);
}

/** The filter of a state: an object as the service takes it, empty when there is none or the address was mangled. */
export function filterOf(state) {
  try {
    const filter = JSON.parse(state.filter || "{}");
    return filter !== null && typeof filter === "object" && !Array.isArray(filter) ? filter : {};
  } catch {
    return {};
  }
}

/** A whole number of the state between two bounds, or what stands for it. */
export function numberOf(text, least, most, otherwise) {
  return /^\d{1,9}$/.test(text) ? Math.min(most, Math.max(least, Number(text))) : otherwise;
}
