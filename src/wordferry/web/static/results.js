// The list of hits.

import { colour, farthest } from "./colour.js";
import { byId, el, shown } from "./dom.js";

/** Draw the hits of one answer; `open(id)` is called for a chosen one. */
export function drawHits(hits, { name, cMax, openId, open }) {
  const far = farthest(name, cMax);
  const list = byId("hits");
  list.replaceChildren(...hits.map((hit) => item(hit, far, hit.id === openId, open)));
}

function item(hit, far, isOpen, open) {
  const distance = hit.distance ?? Infinity;
  const share = Math.min(1, distance / far);
  const title = typeof hit.metadata.title === "string" && hit.metadata.title ? hit.metadata.title : hit.id;
  return el("li", {},
    el("button", { type: "button", class: "hit", "data-id": hit.id, "aria-current": isOpen ? "true" : null, onClick: () => open(hit.id) },
      el("span", { class: "hit-head" },
        el("strong", {}, title),
        el("span", { class: "number" }, shown(distance))),
      bar(share),
      el("span", { class: "snippet" }, hit.text.length > 220 ? `${hit.text.slice(0, 220)}…` : hit.text),
      el("span", { class: "quiet small" }, [hit.id, hit.label].filter(Boolean).join(" · "))));
}

/** The share of "as far as can be" that a distance is. */
function bar(share) {
  const percent = Math.round(100 * share);
  const node = el("span", { class: "bar", role: "img", "aria-label": `${percent} % of the distance of unrelated texts`, title: `${percent} % of the distance of unrelated texts` }, el("i"));
  node.firstChild.style.width = `${percent}%`;
  node.firstChild.style.background = colour(share);
  return node;
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
