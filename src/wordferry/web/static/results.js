// The list of hits: what was found, how near or how good it is, and what can be done with it.

import { colour, farthest } from "./colour.js";
import { byId, el, scored, shown } from "./dom.js";
import { spoken } from "./filters.js";

const SNIPPET = 220;
const TAGS = 6;

/** Draw the hits of one answer. `actions` has open(id), like(id) and narrow(name, value). */
export function drawHits(hits, view, actions) {
  const far = farthest(view.name, view.cMax);
  const best = Math.max(...hits.map((hit) => hit.score ?? 0), view.best ?? 0);
  byId("hits").start = view.first;
  byId("hits").replaceChildren(...hits.map((hit) => item(hit, { far, best, open: hit.id === view.openId }, actions)));
  return best;
}

/** The title of a hit: its own, or its id. */
export const titleOf = (hit) => (typeof hit.metadata.title === "string" && hit.metadata.title ? hit.metadata.title : hit.id);

function item(hit, { far, best, open }, actions) {
  const value = hit.score ?? hit.distance ?? Infinity;
  const share = hit.score === undefined ? Math.min(1, value / far) : best > 0 ? value / best : 0;
  const text = el("span", { class: "snippet", dir: "auto" });
  const long = hit.text.length > SNIPPET;
  const fold = (folded) => { text.textContent = folded && long ? `${hit.text.slice(0, SNIPPET)}…` : hit.text; };
  fold(true);
  return el("li", { class: "card" },
    el("button", { type: "button", class: "hit", "data-id": hit.id, "aria-current": open ? "true" : null, onClick: () => actions.open(hit.id) },
      el("span", { class: "hit-head" },
        el("strong", {}, titleOf(hit)),
        el("span", { class: "number", title: hit.score === undefined ? "distance: the smaller, the nearer" : "score: the larger, the better" }, hit.score === undefined ? shown(value) : scored(value))),
      hit.score === undefined ? nearness(share) : goodness(share),
      text,
      why(hit)),
    el("div", { class: "tags" },
      el("span", { class: "quiet small" }, hit.id),
      tags(hit, actions.narrow),
      long ? folder(text, fold) : null,
      el("button", { type: "button", class: "link small like", onClick: () => actions.like(hit.id) }, "More like this")));
}

/** Which words of the query were found, and how often. */
function why(hit) {
  const words = hit.explanation?.words.filter((one) => Object.keys(one.forms).length) ?? [];
  const meant = (hit.explanation?.meaning?.part ?? 0) > 0;
  if (!words.length) return meant ? el("span", { class: "why small" }, "by meaning") : null;
  const parts = words.map((one) => Object.entries(one.forms).map(([form, count]) => (count > 1 ? `${form} × ${count}` : form)).join(", "));
  return el("span", { class: "why small" }, [...parts, ...(meant ? ["meaning"] : [])].join(" · "));
}

function tags(hit, narrow) {
  const shown = ([name, value]) => name !== "title" && value !== null && String(value).length <= 60;
  const pairs = Object.entries(hit.metadata).filter(shown);
  if (hit.label !== null && !pairs.some(([, value]) => value === hit.label)) pairs.unshift(["label", hit.label]);
  return pairs.slice(0, TAGS).map(([name, value]) =>
    el("button", { type: "button", class: "tag", title: `Only documents with ${name}: ${spoken(value)}`, onClick: () => narrow(name, value) },
      `${name}: ${spoken(value)}`));
}

function folder(text, fold) {
  const button = el("button", { type: "button", class: "link small", "aria-expanded": "false" }, "Whole text");
  button.addEventListener("click", () => {
    const opening = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(opening));
    button.textContent = opening ? "Less" : "Whole text";
    text.classList.toggle("open", opening);
    fold(!opening);
  });
  return button;
}

/** The share of "as far as can be" that a distance is. */
function nearness(share) {
  return bar(Math.round(100 * share), colour(share), "% of the distance of unrelated texts");
}

/** The share of the best score. */
function goodness(share) {
  return bar(Math.round(100 * share), colour(1 - share), "% of the best score");
}

function bar(percent, shade, meaning) {
  const node = el("span", { class: "bar", role: "img", "aria-label": `${percent} ${meaning}`, title: `${percent} ${meaning}` }, el("i"));
  node.firstChild.style.width = `${percent}%`;
  node.firstChild.style.background = shade;
  return node;
}

/** Where these hits stand among all, and the way to the others. */
export function drawPager(first, count, more, go) {
  const pager = byId("pager");
  pager.hidden = first === 0 && !more;
  pager.replaceChildren(
    el("button", { type: "button", id: "page-before", disabled: first === 0, onClick: () => go(-1) }, "‹ Before"),
    el("span", { class: "quiet number" }, count ? `${first + 1} to ${first + count}` : "no more"),
    el("button", { type: "button", id: "page-next", disabled: !more, onClick: () => go(1) }, "Next ›"));
}

/** Mark one hit as the open one. */
export function markOpen(id) {
  for (const button of document.querySelectorAll("#hits .hit")) {
    if (button.dataset.id === id) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/** Move the focus along the hits; from the query the first one is next. */
export function step(direction) {
  const buttons = [...document.querySelectorAll("#hits .hit")];
  const at = buttons.indexOf(document.activeElement);
  const next = at + direction;
  if (next < 0) byId("query").focus();
  else buttons[Math.min(next, buttons.length - 1)]?.focus();
}
