// The page: reads the state in the address, asks the service, and draws.

import { debounced, distance, explain, search, stats } from "./api.js";
import { byId, el, shown } from "./dom.js";
import { drawDetail } from "./explain.js";
import { drawHits, markOpen, step } from "./results.js";
import * as address from "./state.js";

const QUIET = 150; // milliseconds without a key before a search starts
const HITS = 20;

let state = address.read();
let facts = null; // what /api/stats says
let running = { search: null, detail: null };

const chosen = () => state.distance || facts.distance;

/** Abort what runs under a name, and give the signal for the next call. */
function restart(name) {
  running[name]?.abort();
  running[name] = new AbortController();
  return running[name].signal;
}

function report(id, error) {
  if (error.name !== "AbortError") byId(id).textContent = error.message;
}

async function runSearch() {
  const signal = restart("search");
  const text = state.q.trim();
  if (!text) {
    byId("hits").replaceChildren();
    byId("status").textContent = `${facts.documents} documents, ${facts.words} words.`;
    return;
  }
  const started = performance.now();
  try {
    const name = chosen();
    const answer = await search({ texts: [text], k: HITS, distance: name }, signal);
    const { hits, unknown_words: unknown } = answer.results[0];
    drawHits(hits, { name, cMax: facts.c_max, openId: state.id, open: (id) => openHit(id, true) });
    const ignored = unknown.length ? ` No vector for: ${unknown.join(", ")}.` : "";
    byId("status").textContent = `${hits.length} nearest of ${facts.documents} in ${Math.round(performance.now() - started)} ms.${ignored}`;
  } catch (error) {
    if (error.name !== "AbortError") byId("hits").replaceChildren();
    report("status", error);
  }
}

/** Explain the query against one document. */
async function openHit(id, push) {
  state.id = id;
  address.write(state, push);
  markOpen(id);
  await runExplain({ text: state.q.trim() }, { id }, ["Your text", titleOf(id)], "status");
  if (push) byId("detail").focus({ preventScroll: matchMedia("(min-width: 60rem)").matches });
}

/** A hit's title and id, or its id alone while it is not in the list. */
function titleOf(id) {
  const hit = document.querySelector(`#hits .hit[data-id="${CSS.escape(id)}"] strong`);
  return hit && hit.textContent !== id ? `${hit.textContent} (${id})` : id;
}

function closeDetail() {
  const from = state.id;
  restart("detail");
  state.id = "";
  byId("detail").hidden = true;
  address.write(state, true);
  markOpen("");
  document.querySelector(`#hits .hit[data-id="${CSS.escape(from)}"]`)?.focus();
}

async function runExplain(a, b, titles, statusId) {
  const signal = restart("detail");
  try {
    drawDetail(await explain({ a, b, distance: chosen() }, signal), titles, closeDetail);
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("detail").hidden = true;
    report(statusId, error);
  }
}

async function runCompare() {
  const [a, b] = [state.a.trim(), state.b.trim()];
  const status = byId("compare-status");
  if (!a || !b) {
    status.textContent = "Two texts are needed.";
    return;
  }
  status.textContent = "";
  const signal = restart("search");
  await runExplain({ text: a }, { text: b }, ["First text", "Second text"], "compare-status");
  try {
    const { values } = await distance({ a, b, distances: facts.distances }, signal);
    byId("all-distances").replaceChildren(el("dl", { class: "values" }, Object.entries(values).map(([name, value]) =>
      el("div", { class: name === chosen() ? "now" : null }, el("dt", {}, name), el("dd", { class: "number" }, shown(value))))));
  } catch (error) {
    report("compare-status", error);
  }
}

/** Make the page show the state. */
async function show() {
  const compare = state.view === "compare";
  byId("search").hidden = compare;
  byId("compare").hidden = !compare;
  byId("tab-search").setAttribute("aria-pressed", String(!compare));
  byId("tab-compare").setAttribute("aria-pressed", String(compare));
  byId("distance").value = chosen();
  for (const [id, name] of [["query", "q"], ["text-a", "a"], ["text-b", "b"]]) {
    if (byId(id).value !== state[name]) byId(id).value = state[name];
  }
  if (compare) {
    byId("detail").hidden = true;
    if (state.a && state.b) await runCompare();
    return;
  }
  if (!state.id) byId("detail").hidden = true;
  await runSearch();
  if (state.id && state.q.trim()) await openHit(state.id, false);
}

function switchView(view) {
  state.view = view;
  restart("detail");
  address.write(state, true);
  show();
}

function wire() {
  const typed = debounced(() => {
    address.write(state);
    runSearch();
    if (state.id) openHit(state.id, false);
  }, QUIET);
  byId("query").addEventListener("input", (event) => {
    state.q = event.target.value;
    typed();
  });
  for (const side of ["a", "b"]) {
    byId(`text-${side}`).addEventListener("input", (event) => {
      state[side] = event.target.value;
      address.write(state);
    });
  }
  byId("compare-now").addEventListener("click", runCompare);
  byId("distance").addEventListener("change", (event) => {
    state.distance = event.target.value;
    address.write(state, true);
    show();
  });
  byId("tab-search").addEventListener("click", () => switchView("search"));
  byId("tab-compare").addEventListener("click", () => switchView("compare"));
  byId("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme.trim() === "dark";
    localStorage.setItem("wordferry-theme", dark ? "light" : "dark");
    applyTheme();
  });
  addEventListener("popstate", () => {
    state = address.read();
    show();
  });
  addEventListener("keydown", onKey);
}

function onKey(event) {
  const typing = event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLInputElement;
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return;
  if (event.key === "/" && !typing) {
    event.preventDefault();
    (state.view === "compare" ? byId("text-a") : byId("query")).focus();
  } else if (event.key === "Escape" && !byId("detail").hidden && state.view === "search") {
    closeDetail();
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && state.view === "compare") {
    runCompare();
  } else if (state.view === "search" && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const inHits = event.target.classList?.contains("hit");
    if (inHits || (event.target === byId("query") && event.key === "ArrowDown" && !byId("query").value.includes("\n"))) {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    }
  }
}

function applyTheme() {
  const theme = localStorage.getItem("wordferry-theme");
  if (theme) document.documentElement.dataset.theme = theme;
}

async function start() {
  applyTheme();
  try {
    facts = await stats();
  } catch (error) {
    report("status", error);
    return;
  }
  byId("distance").replaceChildren(...facts.explained.map((name) => el("option", { value: name }, name)));
  if (!facts.explained.includes(state.distance)) state.distance = "";
  wire();
  await show();
}

start();
