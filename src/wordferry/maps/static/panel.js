// The panel: everything that is on the map, as text that a keyboard and a screen reader can walk through.
const SHOWN = 50;

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function entry(data, i, open, note = "") {
  const second = [data.labels[i], note, shortened(data.texts[i], 110)].filter(Boolean).join(" · ");
  return element("li", {}, element("button", { type: "button", class: "entry", "data-document": i, onclick: () => open(i) },
    element("b", {}, shortened(titleOf(data, i), 90)), element("span", {}, second)));
}

// A list that grows on demand, so that a hundred thousand documents cost no more than fifty.
function listed(data, documents, open) {
  const list = element("ul");
  let shown = 0;
  const more = element("button", { type: "button", class: "more", onclick: () => grow() }, "Show more");
  function grow() {
    for (const i of documents.slice(shown, shown + SHOWN)) list.append(entry(data, i, open));
    shown = Math.min(documents.length, shown + SHOWN);
    more.hidden = shown >= documents.length;
  }
  grow();
  return element("div", {}, list, more);
}

// Documents by cluster, from the coarsest level; an opened cluster lists its documents.
function browsed(data, open) {
  const root = element("div", {}, element("h2", {}, "By cluster"));
  if (!data.clusters.length) {
    root.append(listed(data, [...data.ids.keys()], open));
    return root;
  }
  const groups = data.levels[0].map(() => []);
  const others = [];
  data.clusters[0].forEach((cluster, i) => (cluster < 0 ? others : groups[cluster]).push(i));
  const parts = groups.map((documents, number) => [data.levels[0][number], documents]);
  parts.push(["between clusters", others], ["without a place on the map", [...data.ids.keys()].slice(data.placed)]);
  for (const [name, documents] of parts) {
    if (!documents.length) continue;
    const details = element("details", {}, element("summary", {}, `${name} (${documents.length})`));
    details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(listed(data, documents, open)));
    root.append(details);
  }
  return root;
}

function flowTable(data, i, j) {
  const { forward, moves, distance } = flows(data, i, j);
  const rows = moves.slice(0, 12);
  const rest = distance - sumOf(rows);
  const word = (w) => (w < 0 ? "(no related word)" : data.words[w]);
  const body = rows.map((move) => element("tr", { class: "flow", "data-cost": move.cost },
    element("td", {}, word(move.from)), element("td", {}, move.from === move.to ? "the same word" : word(move.to)),
    element("td", { class: "n" }, move.mass.toFixed(3)), element("td", { class: "n" }, move.distance.toFixed(3)),
    element("td", { class: "n" }, move.cost.toFixed(4))));
  if (moves.length > rows.length) {
    body.push(element("tr", { class: "flow", "data-cost": rest }, element("td", { colspan: 4 }, `${moves.length - rows.length} more words`),
      element("td", { class: "n" }, rest.toFixed(4))));
  }
  const heads = [forward ? "from this one" : "from the neighbour", "to", "mass", "distance", "cost"];
  return element("div", { class: "flows", "data-distance": distance },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head, at) => element("th", { class: at > 1 ? "n" : null }, head)))),
      element("tbody", {}, ...body)),
    element("p", { class: "quiet" }, `The costs sum to ${distance.toFixed(4)}, the distance.`));
}

function opened(data, i, open, close) {
  const facts = Object.entries(data.metadata[i]).filter(([key]) => key !== "title").map(([key, value]) => `${key}: ${value}`);
  const root = element("div", {},
    element("h2", {}, titleOf(data, i)),
    element("p", { class: "facts" }, [data.ids[i], data.labels[i], ...facts].filter(Boolean).join(" · ")),
    element("p", { class: "text" }, data.texts[i]),
    element("button", { type: "button", class: "more", onclick: close }, "Close"));
  if (i >= data.placed) return root;
  root.append(element("h3", {}, "Nearest documents, and why they are near"));
  const near = data.near.subarray(i * data.neighbours, (i + 1) * data.neighbours);
  near.forEach((other, rank) => {
    if (other < 0 || rank >= 8) return;
    const distance = data.near_distances[i * data.neighbours + rank];
    const details = element("details", { class: "near" }, element("summary", {}, `${distance.toFixed(3)}  ${shortened(titleOf(data, other), 70)}`));
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      details.append(element("p", { class: "quiet" }, shortened(data.texts[other], 220)), flowTable(data, i, other),
        element("button", { type: "button", class: "more", onclick: () => open(other) }, "Go there"));
    });
    root.append(details);
  });
  return root;
}
