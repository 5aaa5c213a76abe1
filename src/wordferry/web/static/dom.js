// Elements are made here and nowhere else; text enters the page through textContent only.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (or event handlers: onClick) and children (strings become text). */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same in the SVG namespace. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2).toLowerCase(), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(typeof child === "string" || typeof child === "number" ? document.createTextNode(String(child)) : child);
  }
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Scores; people compare them, nobody adds them up to the last digit. */
export const scored = (value) => value.toFixed(2);

/** Numbers the way the whole page shows them. */
export const shown = (value) => (Number.isFinite(value) ? value.toFixed(4) : "∞");
