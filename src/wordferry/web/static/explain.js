// The detail: two texts side by side, the flows between their words, and the sum that is the distance.

import { colour, farthest } from "./colour.js";
import { byId, el, scored, shown } from "./dom.js";
import { describe, drawFlows, NOBODY } from "./flows.js";
import { showRelated } from "./related.js";

const MOST_ROWS = 200;
const LONG = 700; // characters above which a text is folded
const DIRECTIONS = { left: " · the first text's words move", right: " · the second text's words move" };
const KINDS = { same: "stays", moved: "", related: "related", c_max: "no related word" };

/** Draw an answer of /api/explain. `view` has titles (of the two texts), close(), and whole(on) for passages. */
export function drawDetail(answer, view) {
  const { titles, close } = view;
  const detail = byId("detail");
  const sum = answer.flows.reduce((total, flow) => total + flow.cost, 0);
  const hint = el("p", { class: "hint", "aria-live": "polite" }, "Point at a word or a flow.");
  const touch = (what) => highlight(detail, answer, what, hint);
  const choose = (word) => showRelated(word, answer.distance);
  const holder = el("div", { class: "picture" });
  detail.replaceChildren(...[
    el("div", { class: "row spread" },
      el("h2", {}, view.score ? "Why it was found" : "How the words travel"),
      el("button", { type: "button", class: "icon", "aria-label": "Close", onClick: close }, "✕")),
    scoreLine(view.score), passageLine(answer, view),
    total(answer, sum),
    el("div", { class: "pair" },
      text(titles[0], answer.a, "source", answer, touch, choose),
      text(titles[1], answer.b, "target", answer, touch, choose)),
    hint, holder, scaleLine(answer), table(answer, touch)].filter(Boolean));
  detail.hidden = false;
  const draw = () => holder.replaceChildren(drawFlows(answer, Math.max(280, holder.clientWidth), touch, choose));
  draw();
  new ResizeObserver((entries) => {
    const width = Math.max(280, Math.floor(entries[0].contentRect.width));
    if (holder.firstChild && Math.abs(width - holder.firstChild.getAttribute("width")) > 2) draw();
  }).observe(holder);
}

/** Draw why a hit was found where no flows can be drawn, and why they cannot. */
export function drawReason(message, view) {
  const detail = byId("detail");
  detail.replaceChildren(
    el("div", { class: "row spread" },
      el("h2", {}, "Why it was found"),
      el("button", { type: "button", class: "icon", "aria-label": "Close", onClick: view.close }, "✕")),
    scoreLine(view.score),
    el("p", { class: "quiet" }, `No flows can be shown: ${message.charAt(0).toLowerCase()}${message.slice(1)}`),
    el("h3", {}, view.titles[1]), el("p", { class: "text", dir: "auto" }, view.text));
  detail.hidden = false;
}

/** What the score of a hit is made of: the words found, its meaning, then the documents near it. */
function scoreLine(score) {
  if (!score) return null;
  const rows = score.words.filter((one) => one.part > 0).map((one) => {
    const forms = Object.entries(one.forms).map(([form, count]) => `${form} × ${count}`).join(", ");
    return el("tr", {}, el("th", { scope: "row" }, one.word), el("td", {}, forms),
      el("td", { class: "quiet wide" }, `in ${one.documents} documents`), el("td", { class: "number" }, scored(one.part)));
  });
  if (score.meaning) rows.push(meaningRow(score.meaning));
  if (score.neighbours.length) {
    const near = score.neighbours.map((one) => one.id ?? one.row).join(", ");
    const part = score.neighbours.reduce((sum, one) => sum + one.part, 0);
    rows.push(el("tr", {}, el("th", { scope: "row" }, "near it"), el("td", {}, near), el("td", { class: "quiet wide" }, "found too"),
      el("td", { class: "number" }, scored(part))));
  }
  const absent = score.words.filter((one) => one.part <= 0).map((one) => one.word);
  const notes = [absent.length ? `Not in this document: ${absent.join(", ")}.` : "", score.missing.length ? `In no document: ${score.missing.join(", ")}.` : ""];
  const missing = notes.some(Boolean) ? el("p", { class: "quiet small" }, notes.filter(Boolean).join(" ")) : null;
  return el("section", { class: "score", "aria-label": "What the score is made of" },
    el("p", { class: "total" }, "score ", el("output", { id: "score", "data-value": score.score }, scored(score.score)), " is the sum of"),
    el("table", {}, el("tbody", {}, rows)), missing);
}

/** How near the document is in meaning; its button leads to the flows, which show the words that are near. */
function meaningRow(meaning) {
  const near = meaning.cosine === null ? "this document has no vector"
    : `cosine ${meaning.cosine.toFixed(3)}, all documents ${meaning.mean.toFixed(3)} ± ${meaning.deviation.toFixed(3)}`;
  const flows = el("button", { type: "button", class: "link", id: "meaning-flows", onClick: () => {
    const words = document.querySelector("#detail .pair .mark") ?? document.querySelector("#detail .picture");
    words?.scrollIntoView({ block: "center" });
    words?.focus();
  } }, "which words are near");
  return el("tr", { id: "meaning" }, el("th", { scope: "row" }, "meaning"), el("td", {}, near), el("td", { class: "quiet wide" }, flows),
    el("td", { class: "number", "data-value": meaning.part }, scored(meaning.part)));
}

/** Which passages are compared, and the way to the whole text. */
function passageLine(answer, view) {
  const length = answer.b.segments.reduce((sum, segment) => sum + segment.text.length, 0);
  if (!view.whole || (!answer.passages && length <= LONG)) return null;
  const said = answer.passages
    ? `The flows go to the ${answer.passages.length === 1 ? "passage" : `${answer.passages.length} passages`} nearest to your words. `
    : "The flows go to the whole text. ";
  return el("p", { class: "quiet small" }, said,
    el("button", { type: "button", class: "link", id: "whole", onClick: () => view.whole(Boolean(answer.passages)) },
      answer.passages ? "Use the whole text" : "Use the best passages"));
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
      body.append(segment.compared ? segment.text : el("span", { class: "outside" }, segment.text));
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
  return el("article", {}, el("h3", {}, title), ...folded(body, side));
}

/** A long text is folded to its beginning, or to its first passage; a button shows the rest. */
function folded(body, side) {
  const length = side.segments.reduce((sum, segment) => sum + segment.text.length, 0);
  if (length <= LONG) return [body];
  body.classList.add("folded");
  const button = el("button", { type: "button", class: "link small", "aria-expanded": "false" }, `Whole text (${length} characters)`);
  button.addEventListener("click", () => {
    const open = body.classList.toggle("folded") === false;
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Less" : `Whole text (${length} characters)`;
  });
  const first = [...body.children].find((node) => node.classList.contains("mark"));
  if (first) requestAnimationFrame(() => { body.scrollTop = Math.max(0, first.offsetTop - body.offsetTop - 24); });
  return [body, button];
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
