// The detail: two texts side by side, the flows between their words, and the sum that is the distance.

import { colour, farthest } from "./colour.js";
import { byId, el, shown } from "./dom.js";
import { describe, drawFlows, NOBODY } from "./flows.js";
import { showRelated } from "./related.js";

const MOST_ROWS = 200;
const DIRECTIONS = { left: " · the first text's words move", right: " · the second text's words move" };
const KINDS = { same: "stays", moved: "", related: "related", c_max: "no related word" };

/** Draw an answer of /api/explain. `titles` names the two texts, `close` is called to leave. */
export function drawDetail(answer, titles, close) {
  const detail = byId("detail");
  const sum = answer.flows.reduce((total, flow) => total + flow.cost, 0);
  const hint = el("p", { class: "hint", "aria-live": "polite" }, "Point at a word or a flow.");
  const touch = (what) => highlight(detail, answer, what, hint);
  const choose = (word) => showRelated(word, answer.distance);
  const holder = el("div", { class: "picture" });
  detail.replaceChildren(
    el("div", { class: "row spread" },
      el("h2", {}, "How the words travel"),
      el("button", { type: "button", class: "icon", "aria-label": "Close", onClick: close }, "✕")),
    total(answer, sum),
    el("div", { class: "pair" },
      text(titles[0], answer.a, "source", answer, touch, choose),
      text(titles[1], answer.b, "target", answer, touch, choose)),
    hint, holder, scaleLine(answer), table(answer, touch));
  detail.hidden = false;
  const draw = () => holder.replaceChildren(drawFlows(answer, Math.max(280, holder.clientWidth), touch, choose));
  draw();
  new ResizeObserver((entries) => {
    const width = Math.max(280, Math.floor(entries[0].contentRect.width));
    if (holder.firstChild && Math.abs(width - holder.firstChild.getAttribute("width")) > 2) draw();
  }).observe(holder);
}

/** The sum of the costs, and the distance it equals. */
function total(answer, sum) {
  const same = Math.abs(sum - answer.value) <= 1e-4 * Math.max(1, answer.value);
  return el("p", { class: "total" },
    el("span", {}, "costs of ", el("b", {}, String(answer.flows.length)), " flows: Σ mass × distance = "),
    el("output", { id: "sum", "data-value": sum }, shown(sum)),
    el("span", { class: same ? "equal" : "unequal" }, same ? " = " : " ≠ "),
    el("output", { id: "value", "data-value": answer.value, "data-distance": answer.distance }, shown(answer.value)),
    el("span", {}, ` ${answer.distance}`),
    el("span", { class: "quiet" }, DIRECTIONS[answer.direction] ?? ""));
}

/** One text with its words marked by what they cost. */
function text(title, side, role, answer, touch, choose) {
  const cost = new Map();
  const far = farthest(answer.distance, answer.c_max);
  for (const flow of answer.flows) {
    const [paid, mass] = cost.get(flow[role]) ?? [0, 0];
    cost.set(flow[role], [paid + flow.cost, mass + flow.mass]);
  }
  const body = el("p", { class: "text", dir: "auto" });
  for (const segment of side.segments) {
    const word = segment.words.find((one) => cost.has(one)) ?? segment.words[0];
    if (word === undefined) {
      body.append(segment.text);
      continue;
    }
    const mark = el("span", {
      class: "mark", "data-word": word, "data-side": role, tabindex: "0", role: "button",
      onPointerenter: () => touch({ word, side: role }), onPointerleave: () => touch(null),
      onFocus: () => touch({ word, side: role }), onBlur: () => touch(null),
      onClick: () => choose(word), onKeydown: (event) => { if (event.key === "Enter") choose(word); },
    }, segment.text);
    const [paid, mass] = cost.get(word) ?? [0, 0];
    if (mass > 0) mark.style.textDecorationColor = colour(paid / mass / far);
    body.append(mark);
  }
  return el("article", {}, el("h3", {}, title), body);
}

/** Make what belongs to a flow or a word stand out, and say what it costs. */
function highlight(detail, answer, what, hint) {
  detail.classList.toggle("pointing", what !== null);
  for (const node of detail.querySelectorAll(".lit")) node.classList.remove("lit");
  if (what === null) return;
  const chosen = answer.flows.filter((flow) => (what.flow ? flow === what.flow : flow[what.side] === what.word));
  const words = { source: new Set(chosen.map((flow) => flow.source)), target: new Set(chosen.map((flow) => flow.target)) };
  for (const path of detail.querySelectorAll(".flow, tr[data-source]")) {
    const { source, target } = path.dataset;
    if (chosen.some((flow) => (flow.source ?? "") === source && (flow.target ?? "") === target)) path.classList.add("lit");
  }
  for (const node of detail.querySelectorAll("[data-word]")) {
    if (words[node.dataset.side]?.has(node.dataset.word || null)) node.classList.add("lit");
  }
  if (what.flow) hint.textContent = describe(what.flow);
  else if (chosen.length === 0) hint.textContent = `${what.word} does not move in this distance.`;
  else if (chosen.length === 1) hint.textContent = describe(chosen[0]);
  else hint.textContent = `${what.word ?? NOBODY}: ${chosen.length} flows, cost ${shown(chosen.reduce((sum, flow) => sum + flow.cost, 0))}`;
}

/** What the colours and the thickness mean. */
function scaleLine(answer) {
  const far = farthest(answer.distance, answer.c_max);
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const chip = el("span", { class: "chip" });
    chip.style.background = colour(share);
    return el("span", {}, chip, (share * far).toFixed(2));
  });
  return el("p", { class: "scale quiet small" }, el("span", {}, "distance of the words: "), steps,
    el("span", {}, "thickness: mass"), answer.c_max === null ? null : el("span", {}, `c_max ${shown(answer.c_max)}`));
}

/** The same flows as a table, dearest first. */
function table(answer, touch) {
  const flows = [...answer.flows].sort((x, y) => y.cost - x.cost).slice(0, MOST_ROWS);
  const rows = flows.map((flow) => el("tr", {
    "data-source": flow.source ?? "", "data-target": flow.target ?? "",
    onPointerenter: () => touch({ flow }), onPointerleave: () => touch(null),
  }, el("td", {}, flow.source ?? "–"), el("td", {}, flow.target ?? "–"),
  ...[flow.mass, flow.distance, flow.cost].map((value) => el("td", { class: "number" }, shown(value))),
  el("td", { class: "quiet" }, KINDS[flow.kind] ?? "")));
  return el("details", { class: "table" },
    el("summary", {}, "The flows as a table"),
    el("table", {},
      el("thead", {}, el("tr", {}, ["from", "to", "mass", "distance", "cost", ""].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows)));
}
