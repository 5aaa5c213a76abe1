// The picture: words of one text on the left, of the other on the right, and a band for each flow between them.

import { colour, farthest } from "./colour.js";
import { shown, svg } from "./dom.js";

const ROW = 20; // the least height of a word's row
const GAP = 3;
const MOST_GAP = 14;

/** What stands in the place of a word when nothing of the other text is related. */
export const NOBODY = "no related word";

/** Stack words from top to bottom; each is as high as its mass needs, and the shorter side has wider gaps. */
function stack(words, scale, height) {
  const heights = words.map(([, mass]) => Math.max(ROW, mass * scale));
  const free = height - heights.reduce((sum, one) => sum + one, 0);
  const gap = Math.min(free / Math.max(1, words.length), MOST_GAP);
  let top = GAP;
  const places = new Map();
  words.forEach(([word, mass], i) => {
    const own = Math.max(1, mass * scale);
    places.set(word, { top: top + (heights[i] - own) / 2, middle: top + heights[i] / 2, used: 0 });
    top += heights[i] + gap;
  });
  return places;
}

/** The height a side needs. */
const needed = (words, scale) => words.reduce((sum, [, mass]) => sum + Math.max(ROW, mass * scale) + GAP, GAP);

/** Words of one side with the mass that flows, in the given order of flows. */
function massOf(flows, side) {
  const masses = new Map();
  for (const flow of flows) masses.set(flow[side], (masses.get(flow[side]) ?? 0) + flow.mass);
  return masses;
}

/** Words that find a near one come first, and words of the right side stand near those that reach them. */
function order(flows) {
  const mean = new Map();
  for (const flow of flows) {
    const [cost, mass] = mean.get(flow.source) ?? [0, 0];
    mean.set(flow.source, [cost + flow.cost, mass + flow.mass]);
  }
  const price = (word) => mean.get(word)[0] / mean.get(word)[1];
  const left = [...massOf(flows, "source")].sort((x, y) => price(x[0]) - price(y[0]));
  const row = new Map(left.map(([word], i) => [word, i]));
  const pull = new Map();
  for (const flow of flows) {
    const [sum, cost, mass] = pull.get(flow.target) ?? [0, 0, 0];
    pull.set(flow.target, [sum + row.get(flow.source) * flow.mass, cost + flow.cost, mass + flow.mass]);
  }
  const centre = (word) => pull.get(word)[0] / pull.get(word)[2];
  const dear = (word) => pull.get(word)[1] / pull.get(word)[2];
  const right = [...massOf(flows, "target")].sort((x, y) => centre(x[0]) - centre(y[0]) || dear(x[0]) - dear(y[0]));
  return { left, right };
}

/** The SVG element. `touch(flow or word or null)` is called when something is pointed at. */
export function drawFlows(answer, width, touch, choose) {
  const flows = answer.flows.filter((flow) => flow.mass > 0);
  const { left, right } = order(flows);
  const rows = Math.max(left.length, right.length, 1);
  const scale = Math.min(Math.max(120, rows * ROW * 0.6), 420); // pixels of all the mass
  const height = Math.max(needed(left, scale), needed(right, scale));
  const a = stack(left, scale, height);
  const b = stack(right, scale, height);
  const edge = Math.min(170, width * 0.3);
  const picture = svg("svg", { class: "flows", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Flows between the words" });
  const far = farthest(answer.distance, answer.c_max);
  const bands = svg("g", { fill: "none" });
  const sorted = [...flows].sort((x, y) => b.get(x.target).middle - b.get(y.target).middle);
  for (const flow of sorted) bands.append(band(flow, a.get(flow.source), b.get(flow.target), edge, width - edge, scale, far, touch));
  picture.append(bands);
  for (const [word] of left) picture.append(label(word, "source", a.get(word), edge - 10, "end", touch, choose));
  for (const [word] of right) picture.append(label(word, "target", b.get(word), width - edge + 10, "start", touch, choose));
  return picture;
}

function band(flow, from, to, x0, x1, scale, far, touch) {
  const thickness = Math.max(1, flow.mass * scale);
  const y0 = from.top + from.used + thickness / 2;
  const y1 = to.top + to.used + thickness / 2;
  from.used += thickness;
  to.used += thickness;
  const middle = (x0 + x1) / 2;
  const path = svg("path", {
    class: `flow ${flow.kind}`,
    d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`,
    stroke: colour(flow.distance / far),
    "stroke-width": thickness.toFixed(2),
    "data-source": flow.source ?? "",
    "data-target": flow.target ?? "",
    "data-mass": flow.mass,
    "data-distance": flow.distance,
    "data-cost": flow.cost,
    onPointerenter: () => touch({ flow }),
    onPointerleave: () => touch(null),
  }, svg("title", {}, describe(flow)));
  return path;
}

function label(word, side, place, x, anchor, touch, choose) {
  return svg("text", {
    class: word === null ? "word nobody" : "word", x, y: place.middle, "text-anchor": anchor, "dominant-baseline": "central",
    "data-word": word ?? "", "data-side": side, tabindex: "0", role: word === null ? null : "button",
    onPointerenter: () => touch({ word, side }),
    onPointerleave: () => touch(null),
    onFocus: () => touch({ word, side }),
    onBlur: () => touch(null),
    onClick: () => word !== null && choose(word),
    onKeydown: (event) => { if (event.key === "Enter" && word !== null) choose(word); },
  }, word === null ? NOBODY : word.length > 18 ? `${word.slice(0, 17)}…` : word);
}

/** A flow in words. */
export function describe(flow) {
  if (flow.kind === "same") return `${flow.source} stays: mass ${shown(flow.mass)}, cost 0`;
  return `${flow.source ?? NOBODY} → ${flow.target ?? NOBODY}: mass ${shown(flow.mass)} × distance ${shown(flow.distance)} = ${shown(flow.cost)}`;
}
