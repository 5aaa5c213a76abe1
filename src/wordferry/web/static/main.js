// The page: reads the state in the address, asks the service, and draws.

import { debounced, distance, explain, search, similar, stats, stored } from "./api.js";
import { byId, el, shown } from "./dom.js";
import { drawDetail, drawReason } from "./explain.js";
import { drawChosen, wireFilters } from "./filters.js";
import { drawHits, drawPager, markOpen, step, titleOf } from "./results.js";
import * as address from "./state.js";

const QUIET = 150; // milliseconds without a key before a search starts
const PASSAGES = 2; // of a document found by words, those that are nearest to the query

let state = address.read();
let facts = null; // what /api/stats says
let running = { search: null, detail: null };
let found = new Map(); // the hits on the page, by id
const titles = new Map(); // of all documents seen so far
let best = 0; // the best score of this query, from its first page

const chosen = () => state.distance || facts.distance;
const compares = () => Boolean(state.like || state.by); // texts, not words of a query
const weights = () => (state.weights && compares() ? { weights: state.weights } : {});
const count = () => address.numberOf(state.k, 1, 100, 20);
const first = () => address.numberOf(state.from, 0, 1000, 0);

/** Abort what runs under a name, and give the signal for the next call. */
function restart(name) {
  running[name]?.abort();
  running[name] = new AbortController();
  return running[name].signal;
}

function report(id, error) {
  if (error.name !== "AbortError") byId(id).textContent = error.message;
}

/** The hits of the state: those that the query finds, or those like a document. */
async function ask(signal) {
  const window = { k: count(), offset: first() };
  const filter = address.filterOf(state);
  if (Object.keys(filter).length) window.filter = filter;
  const like = state.like ? { id: state.like } : state.by ? { text: state.q.trim() } : null;
  if (like) return similar({ like, distance: chosen(), ...weights(), ...window }, signal);
  const answer = await search({ texts: [state.q.trim()], explain: true, ...window }, signal);
  return { ...answer, ...answer.results[0] };
}

async function runSearch() {
  const signal = restart("search");
  drawChosen(address.filterOf(state));
  drawLike();
  if (state.like) await learnTitle(state.like);
  if (!state.like && !state.q.trim()) {
    byId("hits").replaceChildren();
    byId("pager").hidden = true;
    byId("status").textContent = facts.documents === null ? "" : `${facts.documents} documents, ${facts.words} words.`;
    return;
  }
  const started = performance.now();
  try {
    const answer = await ask(signal);
    found = new Map(answer.hits.map((hit) => [hit.id, hit]));
    for (const hit of answer.hits) titles.set(hit.id, titleOf(hit));
    const view = { name: answer.distance, cMax: facts.c_max, openId: state.id, first: first() + 1, best: first() ? best : 0 };
    best = drawHits(answer.hits, view, { open: (id) => openHit(id, true), like: showLike, narrow });
    drawPager(first(), answer.hits.length, answer.more, turn);
    byId("status").textContent = summary(answer, Math.round(performance.now() - started));
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("hits").replaceChildren();
    byId("pager").hidden = true;
    report("status", error);
  }
}

/** How many were found among how many, and which words did not help. */
function summary(answer, milliseconds) {
  const unknown = answer.unknown_words ?? [];
  const down = answer.missing?.length ? ` No answer from the shards ${answer.missing.join(", ")}: hits may be missing.` : "";
  const ignored = (unknown.length ? ` No vector for: ${unknown.join(", ")}.` : "") + down;
  if (!answer.hits.length) {
    const filtered = Object.keys(address.filterOf(state)).length;
    if (first()) return "No more hits.";
    const what = state.by || state.like ? "Nothing found" : "No document has any of these words, or another form of one";
    return `${what}${filtered ? ", with these filters" : ""}.${ignored}`;
  }
  const missing = answer.hits[0].explanation?.missing ?? [];
  const absent = missing.length ? ` In no document: ${missing.join(", ")}.` : "";
  const what = state.like ? "like it" : answer.hits[0].score === undefined ? "nearest" : "best";
  return `${answer.hits.length} ${what} of ${facts.documents} in ${milliseconds} ms.${ignored}${absent}`;
}

/** Say which document the hits are like, and how to leave. */
function drawLike() {
  const line = byId("like-line");
  line.hidden = !state.like;
  byId("query").hidden = byId("by").hidden = Boolean(state.like);
  if (!state.like) return;
  line.replaceChildren(el("span", {}, "Documents like ", el("strong", {}, titles.get(state.like) ?? state.like)),
    el("button", { type: "button", class: "link", id: "leave-like", onClick: () => go({ like: "" }) }, "Back to the search"));
}

/** Learn the title of a document that is in no list yet. */
async function learnTitle(id) {
  if (titles.has(id)) return;
  try {
    titles.set(id, titleOf(await stored(id)));
  } catch {
    return; // the search for documents like it says what is wrong
  }
  if (state.like === id) drawLike();
}

/** Change the state by a step that the back button undoes; another list begins at its beginning. */
function go(changes) {
  state = { ...state, id: "", from: "", whole: "", ...changes };
  restart("detail");
  address.write(state, true);
  show();
}

const showLike = (id) => {
  go({ like: id });
  scrollTo({ top: 0 });
};
const narrow = (name, value) => setFilter({ ...address.filterOf(state), [name]: value });
const setFilter = (filter) => go({ filter: Object.keys(filter).length ? JSON.stringify(filter) : "" });

/** Turn the page. */
function turn(direction) {
  go({ from: String(Math.max(0, first() + direction * count()) || "") });
  byId("search").scrollIntoView({ block: "start" });
}

/** Explain one document: against the query, or against the one that it is like. */
async function openHit(id, push) {
  state.id = id;
  address.write(state, push);
  markOpen(id);
  const from = state.like ? { id: state.like } : { text: state.q.trim() };
  await runExplain(from, { id }, [state.like ? named(state.like) : "Your text", named(id)], "status");
  if (push) byId("detail").focus({ preventScroll: matchMedia("(min-width: 60rem)").matches });
}

/** A hit's title and id, or its id alone while it is not in the list. */
function named(id) {
  const title = titles.get(id) ?? id;
  return title === id ? id : `${title} (${id})`;
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

/** Use the best passages of the open document, or all of it. */
function useWhole(on) {
  state.whole = on ? "yes" : "no";
  address.write(state, true);
  openHit(state.id, false);
}

async function runExplain(a, b, titles, statusId) {
  const signal = restart("detail");
  const hit = found.get(b.id);
  const whole = state.whole ? state.whole === "yes" : hit?.score === undefined; // a distance is one of whole texts
  const passages = whole ? null : PASSAGES;
  try {
    const answer = await explain({ a, b, distance: chosen(), passages, ...(b.id ? weights() : {}) }, signal);
    drawDetail(answer, { titles, close: closeDetail, score: hit?.explanation, whole: b.id ? useWhole : null });
  } catch (error) {
    if (error.name === "AbortError") return;
    if (hit?.explanation) {
      drawReason(error.message, { titles, close: closeDetail, score: hit.explanation, text: hit.text });
      return;
    }
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
  byId("by").value = state.by ? "near" : "";
  byId("weights").value = state.weights;
  byId("weights").hidden = !compares();
  byId("count").value = [...byId("count").options].some((one) => one.value === state.k) ? state.k : "20";
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
  if (state.id && (state.like || state.q.trim())) await openHit(state.id, false);
}

function switchView(view) {
  state.view = view;
  restart("detail");
  address.write(state, true);
  show();
}

function wire() {
  const typed = debounced(() => {
    Object.assign(state, { from: "", whole: "" });
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
  byId("by").addEventListener("change", (event) => go({ by: event.target.value }));
  byId("weights").addEventListener("change", (event) => go({ weights: event.target.value }));
  byId("count").addEventListener("change", (event) => go({ k: event.target.value === "20" ? "" : event.target.value }));
  wireFilters(setFilter, () => address.filterOf(state));
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
  const typing = event.target.matches?.("textarea, input, select");
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return;
  if (event.key === "/" && !typing) {
    event.preventDefault();
    if (state.view !== "compare" && state.like) go({ like: "" });
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
  if (![...byId("weights").options].some((one) => one.value === state.weights)) state.weights = "";
  wire();
  await show();
}

start();
