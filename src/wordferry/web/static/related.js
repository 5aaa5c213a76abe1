// The related words of a word, in a dialog.

import { related } from "./api.js";
import { colour, farthest } from "./colour.js";
import { byId, el, shown } from "./dom.js";

/** Show a word's related words; each of them can be asked about in turn. */
export async function showRelated(word, name) {
  const dialog = byId("related");
  const close = el("button", { type: "button", class: "icon", "aria-label": "Close", onClick: () => dialog.close() }, "✕");
  const title = el("h2", { id: "related-title" }, word);
  dialog.replaceChildren(el("div", { class: "row spread" }, title, close), el("p", { class: "quiet" }, "…"));
  if (!dialog.open) dialog.showModal();
  try {
    const answer = await related(word);
    const far = farthest("wmd", answer.c_max);
    const sentence = answer.c_max === null
      ? `All words of this collection are related to ${word}.`
      : `Its ${answer.neighbours.length} related words. Every other word is at c_max = ${shown(answer.c_max)}.`;
    dialog.replaceChildren(
      el("div", { class: "row spread" }, title, close),
      el("p", { class: "quiet" }, sentence),
      el("ol", { class: "neighbours" }, answer.neighbours.map((one) => line(one, far, name))));
  } catch (error) {
    dialog.lastChild.textContent = error.message;
  }
}

function line(one, far, name) {
  const bar = el("span", { class: "bar" }, el("i"));
  bar.firstChild.style.width = `${Math.min(100, (100 * one.distance) / far)}%`;
  bar.firstChild.style.background = colour(one.distance / far);
  return el("li", {},
    el("button", { type: "button", class: "link", onClick: () => showRelated(one.word, name) }, one.word),
    bar, el("span", { class: "number" }, shown(one.distance)));
}
