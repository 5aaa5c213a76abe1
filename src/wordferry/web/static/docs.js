// The description of the HTTP interface (openapi.json) for people: every request, what it takes, and a form to try it.

import { call } from "./api.js";
import { byId, el } from "./dom.js";

const main = byId("operations");
call("GET", "openapi.json").then(show, (error) => main.replaceChildren(el("p", { class: "wrong", role: "alert" }, error.message)));

function show(described) {
  const found = Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(described, path, method.toUpperCase(), operation)));
  main.replaceChildren(...found);
}

function section(described, path, method, operation) {
  const schema = resolved(described, operation.requestBody?.content["application/json"]?.schema);
  const fields = schema ? Object.entries(schema.properties).map(([name, field]) => row(name, field, schema.required?.includes(name))) : [];
  const given = (operation.parameters ?? []).map((one) => row(one.name, { ...one.schema, description: one.description }, one.required));
  return el("section", { class: "pane operation", id: operation.operationId },
    el("h2", {}, el("code", {}, `${method} ${path}`)),
    el("p", {}, operation.description),
    schema && schema.description ? el("p", { class: "quiet" }, schema.description) : null,
    fields.length + given.length ? el("table", {}, el("tbody", {}, ...given, ...fields)) : null,
    el("p", { class: "quiet small" }, Object.entries(operation.responses).filter(([status]) => status >= "400").map(([status, answer]) => `${status}: ${answer.description}`).join(" ")),
    form(path, method, schema, operation.parameters ?? []));
}

function row(name, field, required) {
  return el("tr", {}, el("th", { scope: "row" }, el("code", {}, name)),
    el("td", { class: "quiet" }, kind(field) + (required ? ", required" : "")), el("td", {}, field.description ?? ""));
}

/** What values a field takes, in a word or two. */
function kind(field) {
  const choices = (field.anyOf ?? [field]).filter((one) => one.type !== "null");
  const words = choices.map((one) => one.enum?.join(" | ") ?? one.const ?? one.type ?? one.$ref?.split("/").pop() ?? "object");
  return [...new Set(words)].join(" or ");
}

function resolved(described, schema) {
  return schema?.$ref ? described.components.schemas[schema.$ref.split("/").pop()] : schema;
}

/** The smallest body that is valid: what is required, as the examples have it. */
function example(schema) {
  const needed = schema.required ?? [];
  return Object.fromEntries(needed.map((name) => [name, schema.properties[name].examples?.[0] ?? ""]));
}

/** A form that sends the request and shows the answer. */
function form(path, method, schema, parameters) {
  const inputs = parameters.filter((one) => one.required)
    .map((one) => [one, el("input", { "aria-label": one.name, placeholder: one.name, value: one.schema.enum?.[0] ?? "" })]);
  const body = schema ? el("textarea", { rows: 6, "aria-label": "Body", spellcheck: "false" }, JSON.stringify(example(schema), null, 2)) : null;
  const answer = el("pre", { class: "answer", "aria-live": "polite", hidden: true });
  const send = async (event) => {
    event.preventDefault();
    let address = path.slice(1);
    const query = new URLSearchParams();
    for (const [one, input] of inputs) {
      if (one.in === "path") address = address.replace(`{${one.name}}`, input.value.split("/").map(encodeURIComponent).join("/"));
      else query.set(one.name, input.value);
    }
    try {
      const value = await call(method, query.size ? `${address}?${query}` : address, body ? JSON.parse(body.value) : null);
      answer.textContent = JSON.stringify(value, null, 2);
    } catch (error) {
      answer.textContent = error.message;
    }
    answer.hidden = false;
  };
  return el("details", {}, el("summary", {}, "Try it"),
    el("form", { onSubmit: send }, ...inputs.map(([, input]) => input), body, el("button", { class: "main" }, "Send")), answer);
}
