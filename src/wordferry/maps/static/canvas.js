// Points drawn straight into pixels: fast for a hundred thousand on any machine, with or without a graphics card.
const PALETTE = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#17becf",
  "#8cd17d", "#d37295", "#a0cbe8", "#b6992d", "#499894", "#d4a6c8", "#86bcb6", "#fabfd2", "#79706e", "#ffbe7d"];
const NOBODY = "#9aa6b2";

function packed(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16);
}

class Picture {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.points = data.points;
    this.count = data.placed;
    this.colours = new Uint32Array(this.count).fill(packed(NOBODY));
    this.lit = null; // null: all documents look the same; else 1 for those found or selected
    this.current = -1;
    this.view = { x: 0, y: 0, scale: 1 };
    this.frames = 0;
    this.waiting = false;
    this.after = () => {};
    this.resize();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = Math.max(1, Math.round(box.width * this.ratio));
    this.height = Math.max(1, Math.round(box.height * this.ratio));
    this.canvas.width = this.width;
    this.canvas.height = this.height;
    this.image = this.context.createImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.unit = Math.min(this.width, this.height) / 2.25;
    this.theme();
    this.redraw();
  }

  // From the map's coordinates to pixels of the canvas, and back.
  toPixel(x, y) {
    const s = this.unit * this.view.scale;
    return [this.width / 2 + (x - this.view.x) * s, this.height / 2 + (y - this.view.y) * s];
  }

  toMap(px, py) {
    const s = this.unit * this.view.scale;
    return [(px * this.ratio - this.width / 2) / s + this.view.x, (py * this.ratio - this.height / 2) / s + this.view.y];
  }

  zoom(factor, px = this.width / this.ratio / 2, py = this.height / this.ratio / 2) {
    const [x, y] = this.toMap(px, py);
    this.view.scale = Math.min(400, Math.max(0.6, this.view.scale * factor));
    const [nx, ny] = this.toMap(px, py);
    this.view.x += x - nx;
    this.view.y += y - ny;
    this.redraw();
  }

  move(dx, dy) {
    const s = this.unit * this.view.scale;
    this.view.x -= (dx * this.ratio) / s;
    this.view.y -= (dy * this.ratio) / s;
    this.redraw();
  }

  visible(i) {
    const [px, py] = this.toPixel(this.points[2 * i], this.points[2 * i + 1]);
    return px >= 0 && py >= 0 && px < this.width && py < this.height;
  }

  show(i) {
    this.view.x = this.points[2 * i];
    this.view.y = this.points[2 * i + 1];
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
      this.after();
    });
  }

  // The colour of the paper, asked for when it can have changed and not in every frame.
  theme() {
    const paper = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
    this.ground = (255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0];
    this.faded = blended(packed(NOBODY), this.ground, 0.3);
  }

  draw() {
    this.pixels.fill(this.ground);
    const crowd = Math.min(1, Math.sqrt(3000 / Math.max(1, this.count)));
    const radius = Math.max(1, Math.round(this.ratio * Math.min(7, (1 + 2 * crowd) * Math.pow(this.view.scale, 0.35))));
    if (this.lit === null) {
      this.stamp(radius, 0, this.count);
    } else {
      this.stamp(radius, 0, this.count, 0, this.faded);
      this.stamp(radius + Math.round(this.ratio), 0, this.count, 1);
    }
    if (this.current >= 0 && this.current < this.count) {
      const [i, end] = [this.current, this.current + 1];
      this.stamp(radius + Math.round(5 * this.ratio), i, end, -1, packed("#111111"));
      this.stamp(radius + Math.round(3 * this.ratio), i, end, -1, packed("#ffffff"));
      this.stamp(radius + Math.round(this.ratio), i, end);
    }
    this.context.putImageData(this.image, 0, 0);
    this.frames++;
  }

  // Discs of documents, those with wanted in lit (-1: all), in one colour or each in its own: one pass over the points
  // with nothing called in it.
  stamp(radius, first, end, wanted = -1, colour = 0) {
    const { points, pixels, colours, width, height, lit } = this;
    const s = this.unit * this.view.scale;
    const left = width / 2 - this.view.x * s + 0.5, top = height / 2 - this.view.y * s + 0.5;
    const right = width - radius, bottom = height - radius;
    const offsets = offsetsOf(radius, width), size = offsets.length;
    for (let i = first; i < end; i++) {
      if (wanted >= 0 && lit[i] !== wanted) continue;
      const px = (points[2 * i] * s + left) | 0, py = (points[2 * i + 1] * s + top) | 0;
      if (px < radius || py < radius || px >= right || py >= bottom) continue;
      const middle = py * width + px, paint = colour || colours[i];
      for (let k = 0; k < size; k++) pixels[middle + offsets[k]] = paint;
    }
  }

  // The document nearest to a place on the screen, if it is close enough to be meant.
  at(px, py, reach = 12) {
    const [x, y] = this.toMap(px, py);
    let best = (reach * this.ratio / (this.unit * this.view.scale)) ** 2, found = -1;
    for (let i = 0; i < this.count; i++) {
      const d = (this.points[2 * i] - x) ** 2 + (this.points[2 * i + 1] - y) ** 2;
      if (d < best) [best, found] = [d, i];
    }
    return found;
  }

  // Documents inside a line drawn around them.
  inside(corners) {
    const line = corners.map(([px, py]) => this.toMap(px, py));
    const found = [];
    for (let i = 0; i < this.count; i++) {
      const x = this.points[2 * i], y = this.points[2 * i + 1];
      let within = false;
      for (let a = 0, b = line.length - 1; a < line.length; b = a++) {
        const [ax, ay] = line[a], [bx, by] = line[b];
        if ((ay > y) !== (by > y) && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
      }
      if (within) found.push(i);
    }
    return found;
  }
}

function blended(colour, ground, share) {
  let mixed = 255 << 24;
  for (const shift of [0, 8, 16]) {
    const value = ((colour >> shift) & 255) * share + ((ground >> shift) & 255) * (1 - share);
    mixed |= Math.round(value) << shift;
  }
  return mixed;
}

// Where the pixels of a disc lie around its middle, in an image of some width.
const discs = new Map();
function offsetsOf(radius, width) {
  const key = `${radius} ${width}`;
  if (!discs.has(key)) {
    const offsets = [];
    for (let row = -radius; row <= radius; row++) {
      const half = Math.floor(Math.sqrt((radius + 0.3) ** 2 - row * row));
      for (let column = -half; column <= half; column++) offsets.push(row * width + column);
    }
    discs.set(key, Int32Array.from(offsets));
  }
  return discs.get(key);
}
