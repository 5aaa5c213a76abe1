const get = (id) => document.getElementById(id);

function coloured(data, picture, choice) {
  const legend = get("legend");
  legend.replaceChildren();
  const row = (colour, name) => {
    const dot = element("i");
    dot.style.background = colour;
    legend.append(element("div", {}, dot, String(name)));
  };
  const paint = (numberOf) => { for (let i = 0; i < data.placed; i++) picture.colours[i] = packed(numberOf(i)); };
  const [kind, name] = [choice.dataset.kind, choice.value];
  if (kind === "cluster") {
    const cluster = data.clusters[Number(name)];
    paint((i) => (cluster[i] < 0 ? NOBODY : PALETTE[cluster[i] % PALETTE.length]));
  } else if (kind) {
    const values = [...Array(data.placed).keys()].map((i) => (name === "label" ? data.labels[i] : data.metadata[i][name]) ?? null);
    if (kind === "numbers") {
      const known = values.filter((value) => value !== null).sort((a, b) => a - b);
      const [low, high] = [known[0], known[known.length - 1]];
      const shade = (value) => {
        const share = high > low ? (value - low) / (high - low) : 0;
        const part = (a, b) => Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
        return `#${part(0x2c, 0xf2)}${part(0x6f, 0x8e)}${part(0xbb, 0x2b)}`;
      };
      paint((i) => (values[i] === null ? NOBODY : shade(values[i])));
      row(shade(low), low);
      row(shade(high), high);
    } else {
      const counts = new Map();
      values.forEach((value) => value !== null && counts.set(value, (counts.get(value) ?? 0) + 1));
      const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
      const numbers = new Map(names.map((value, number) => [value, number]));
      paint((i) => (values[i] === null ? NOBODY : PALETTE[numbers.get(values[i]) % PALETTE.length]));
      names.slice(0, PALETTE.length).forEach((value, number) => row(PALETTE[number], value));
    }
  }
  picture.redraw();
}

const SETTLED = 150; // milliseconds after which a map that moves gets its names laid out anew

// Names of clusters where they stand; closer views show finer ones, and a name that would cover another is left out.
// While the map is only pushed about, they are pushed with it as one layer, which costs next to nothing.
function named(data, picture) {
  const centres = data.clusters.map((cluster, depth) => data.levels[depth].map((name, number) => {
    const xs = [], ys = [];
    cluster.forEach((one, i) => { if (one === number) { xs.push(data.points[2 * i]); ys.push(data.points[2 * i + 1]); } });
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    return { name, size: xs.length, x: middle(xs), y: middle(ys) };
  }).sort((a, b) => b.size - a.size));
  const layer = get("names");
  let before = null, timer = 0;
  return () => {
    const now = { ...picture.view, width: picture.width, height: picture.height, time: performance.now() };
    const pushed = before && ["scale", "width", "height"].every((key) => now[key] === before[key]);
    if (pushed && now.time - before.time < SETTLED) {
      const step = (picture.unit * now.scale) / picture.ratio;
      layer.style.transform = `translate(${(before.x - now.x) * step}px, ${(before.y - now.y) * step}px)`;
      clearTimeout(timer);
      timer = setTimeout(() => { before = null; picture.after(); }, SETTLED);
      return;
    }
    clearTimeout(timer);
    before = now;
    layer.style.transform = "none";
    const depth = Math.min(centres.length - 1, Math.floor(Math.log2(Math.max(1, picture.view.scale)) / 1.2));
    const taken = [];
    const nodes = [];
    for (const { name, x, y } of depth < 0 ? [] : centres[depth]) {
      const [px, py] = picture.toPixel(x, y).map((value) => value / picture.ratio);
      const width = name.length * 7.6, room = picture.width / picture.ratio;
      if (px < 0 || py < 0 || px > room || py > picture.height / picture.ratio) continue;
      const left = Math.max(width / 2 + 4, Math.min(px, room - width / 2 - 4)), box = [left - width / 2, py - 10, left + width / 2, py + 10];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      const node = element("span", {}, name);
      node.style.left = `${left}px`;
      node.style.top = `${py}px`;
      nodes.push(node);
    }
    layer.replaceChildren(...nodes);
  };
}

function saved(name, kind, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (value) => {
  const text = String(value ?? "");
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // a spreadsheet would run it as a formula
  return `"${plain.replaceAll('"', '""')}"`;
};

async function start() {
  const data = await readData((words) => { get("status").textContent = words; });
  const find = finder(data);
  const picture = new Picture(get("canvas"), data);
  let chosen = null;

  const open = (i) => {
    picture.current = i;
    if (i < data.placed && !picture.visible(i)) picture.show(i);
    picture.redraw();
    get("document").replaceChildren(opened(data, i, open, close));
    get("document").hidden = false;
    get("document").focus({ preventScroll: true });
    get("document").scrollIntoView({ block: "nearest" });
    get("panel").scrollTop = get("document").offsetTop - 80;
  };
  const close = () => {
    picture.current = -1;
    get("document").hidden = true;
    picture.redraw();
    get("find").focus();
  };
  const choose = (documents, words) => {
    chosen = documents;
    picture.lit = null;
    if (documents) {
      picture.lit = new Uint8Array(data.placed);
      for (const i of documents) if (i < data.placed) picture.lit[i] = 1;
    }
    get("status").textContent = documents ? words : "";
    get("actions").hidden = !documents || !documents.length;
    get("list").replaceChildren(documents ? listed(data, documents, open) : browsed(data, open));
    picture.redraw();
  };

  get("count").textContent = `${data.ids.length.toLocaleString("en")} documents` +
    (data.placed < data.ids.length ? `, ${data.ids.length - data.placed} without a place on the map` : "");
  const options = data.levels.map((names, depth) => [`cluster`, depth, `cluster (${names.length})`]);
  for (const { name, kind } of data.colours) options.push([kind, name, name]);
  for (const [kind, value, text] of options) get("colour").append(element("option", { value, "data-kind": kind }, text));
  if (!options.length) get("colour").append(element("option", { value: "" }, "nothing"));
  get("colour").addEventListener("change", () => coloured(data, picture, get("colour").selectedOptions[0]));
  coloured(data, picture, get("colour").selectedOptions[0]);
  picture.after = named(data, picture);

  get("find").addEventListener("input", () => {
    const found = find(get("find").value);
    choose(found, found && (found.length === 1 ? "1 document" : `${found.length.toLocaleString("en")} documents`));
  });
  get("clear").addEventListener("click", () => { get("find").value = ""; choose(null); });
  get("json").addEventListener("click", () => saved("selection.json", "application/json", JSON.stringify(
    chosen.map((i) => ({ id: data.ids[i], label: data.labels[i], metadata: data.metadata[i], text: data.texts[i] })), null, 1)));
  get("csv").addEventListener("click", () => saved("selection.csv", "text/csv",
    ["id,label,text", ...chosen.map((i) => [data.ids[i], data.labels[i], data.texts[i]].map(quoted).join(","))].join("\r\n") + "\r\n"));
  handled(data, picture, open, choose);
  choose(null);
  window.wordferryMap = { data, picture, flows: (i, j) => flows(data, i, j) };
  document.body.dataset.ready = "yes";
}

// Mouse, touch and keys on the map.
function handled(data, picture, open, choose) {
  const canvas = picture.canvas, card = get("card");
  const touches = new Map();
  let line = null, moved = 0, spread = 0;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const drawLine = () => get("lasso").firstElementChild.setAttribute("points", line ? line.map((p) => p.join(",")).join(" ") : "");

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, place(event));
    moved = 0;
    if (event.shiftKey || get("draw").getAttribute("aria-pressed") === "true") line = [place(event)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event), before = touches.get(event.pointerId);
    if (!before) {
      const i = picture.at(...now);
      card.hidden = i < 0;
      if (i >= 0) {
        card.replaceChildren(element("b", {}, shortened(titleOf(data, i), 80)), shortened(data.texts[i], 180));
        card.style.left = `${Math.max(0, Math.min(now[0] + 14, canvas.clientWidth - 360))}px`;
        card.style.top = `${Math.min(now[1] + 14, canvas.clientHeight - 110)}px`;
      }
      return;
    }
    card.hidden = true;
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    touches.set(event.pointerId, now);
    if (line) {
      line.push(now);
      drawLine();
    } else if (touches.size === 2) {
      const [a, b] = [...touches.values()], width = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) picture.zoom(width / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = width;
    } else {
      picture.move(now[0] - before[0], now[1] - before[1]);
    }
  });
  const end = (event) => {
    touches.delete(event.pointerId);
    spread = 0;
    if (line && line.length > 2) {
      const found = picture.inside(line);
      choose(found, `${found.length.toLocaleString("en")} documents selected`);
    } else if (event.type === "pointerup" && moved < 4) {
      const i = picture.at(...place(event));
      if (i >= 0) open(i);
    }
    line = null;
    drawLine();
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => { card.hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    picture.zoom(Math.exp(-event.deltaY * 0.0015), ...place(event));
  }, { passive: false });
  const whole = () => { picture.view = { x: 0, y: 0, scale: 1 }; picture.redraw(); };
  const keys = { "+": () => picture.zoom(1.4), "=": () => picture.zoom(1.4), "-": () => picture.zoom(1 / 1.4), 0: whole,
    ArrowLeft: () => picture.move(60, 0), ArrowRight: () => picture.move(-60, 0), ArrowUp: () => picture.move(0, 60), ArrowDown: () => picture.move(0, -60) };
  canvas.addEventListener("keydown", (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== get("find")) { event.preventDefault(); get("find").focus(); }
  });
  get("closer").addEventListener("click", keys["+"]);
  get("farther").addEventListener("click", keys["-"]);
  get("whole").addEventListener("click", whole);
  get("draw").addEventListener("click", () => {
    const on = get("draw").getAttribute("aria-pressed") !== "true";
    get("draw").setAttribute("aria-pressed", on);
    canvas.classList.toggle("drawing", on);
  });
  window.addEventListener("resize", () => picture.resize());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { picture.theme(); picture.redraw(); });
}

start().catch((error) => { get("status").textContent = `The map could not be read: ${error.message}`; throw error; });
