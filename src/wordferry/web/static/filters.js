// Filters on metadata: what can be chosen, and what is.

import { fields } from "./api.js";
import { byId, el } from "./dom.js";

const FEW = 12; // values up to which numbers are offered one by one
let known = null;
let change = () => {};

/** A value as people write it. */
export function spoken(value) {
  if (value === null) return "none";
  if (value === true) return "yes";
  return value === false ? "no" : String(value);
}

/** A condition in words. */
function inWords(rule) {
  if (rule === null || typeof rule !== "object") return spoken(rule);
  const parts = Object.entries(rule).map(([name, value]) => {
    if (name === "gte") return `from ${spoken(value)}`;
    if (name === "lte") return `to ${spoken(value)}`;
    if (name === "in") return value.map(spoken).join(" or ");
    return `${name} ${Array.isArray(value) ? value.map(spoken).join(", ") : spoken(value)}`;
  });
  return parts.join(" ");
}

/** Prepare the form; `onChange(filter)` is called with the whole filter. */
export function wireFilters(onChange, current) {
  change = onChange;
  byId("filters").addEventListener("toggle", async () => {
    if (!byId("filters").open || known) return;
    await load();
    drawValue();
  });
  byId("filter-field").addEventListener("change", drawValue);
  byId("filter-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const rule = chosenRule();
    if (rule === undefined) return;
    change({ ...current(), [byId("filter-field").value]: rule });
  });
}

async function load() {
  const note = byId("filter-note");
  try {
    known = (await fields()).fields.sort((x, y) => Number(groups(y)) - Number(groups(x)));
  } catch (error) {
    note.textContent = error.message;
    return;
  }
  note.textContent = known.length ? "" : "The documents have no metadata to filter by.";
  byId("filter-form").hidden = known.length === 0;
  byId("filter-field").replaceChildren(...known.map((field) => el("option", { value: field.name }, field.name)));
}

/** Whether a field puts documents into groups: some value stands in more than one. */
const groups = (field) => field.values.some((one) => one.documents > 1);

/** What a value of the chosen field can be: one of a list, a range of numbers, or a text. */
function drawValue() {
  const field = known?.find((one) => one.name === byId("filter-field").value);
  if (!field) return;
  const holder = byId("filter-value");
  if (field.least !== null && (field.values.length === 0 || field.values.length > FEW)) {
    holder.replaceChildren(
      el("label", {}, "from ", el("input", { type: "number", step: "any", id: "filter-from", placeholder: field.least })),
      el("label", {}, "to ", el("input", { type: "number", step: "any", id: "filter-to", placeholder: field.most })));
  } else if (groups(field)) {
    holder.replaceChildren(el("select", { id: "filter-one", "aria-label": "Value" }, field.values.map((one, place) =>
      el("option", { value: place }, `${shortened(spoken(one.value))} (${one.documents})`))));
  } else {
    holder.replaceChildren(el("input", { id: "filter-text", "aria-label": "Value", placeholder: "exactly this" }));
  }
}

const shortened = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** The condition in the form; undefined when it is empty. */
function chosenRule() {
  const field = known.find((one) => one.name === byId("filter-field").value);
  const one = byId("filter-one");
  if (one) return field.values[Number(one.value)].value;
  const text = byId("filter-text");
  if (text) return text.value || undefined;
  const rule = {};
  for (const [id, name] of [["filter-from", "gte"], ["filter-to", "lte"]]) {
    if (byId(id).value !== "") rule[name] = Number(byId(id).value);
  }
  return Object.keys(rule).length ? rule : undefined;
}

/** Show what is chosen; each condition can be taken away. */
export function drawChosen(filter) {
  const entries = Object.entries(filter);
  byId("chosen").replaceChildren(...entries.map(([name, rule]) =>
    el("button", {
      type: "button", class: "tag on", "aria-label": `Remove the filter ${name}: ${inWords(rule)}`,
      onClick: () => change(Object.fromEntries(entries.filter(([other]) => other !== name))),
    }, `${name}: ${shortened(inWords(rule))} ✕`)));
}
