// Fields of forms: numbers, lists, angles, choices, each bound to a key of the model, with its error beneath.

import { checkbox, el, select } from "/web/dom.js";

const DEGREE = 180 / Math.PI;
const LONG = 7;
const SEEN = 5;

// What was typed, as a number where it is one; anything else goes to the server as it is, whose sentence then says what is wrong.
export function parsed(text) {
  const plain = text.trim().replace(/\u2212/g, "-");
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
}

// One number for all, or one for each with commas between.
export function parsedEach(text) {
  const parts = text.split(/[,;\s]+/).filter((part) => part !== "");
  return parts.length > 1 ? parts.map(parsed) : parsed(text);
}

export function shownValue(value) {
  if (Array.isArray(value)) return value.map(shownValue).join(", ");
  if (typeof value === "number" && value !== 0 && Math.abs(value) < 1e-3) return value.toExponential().replace("e+", "e");
  return typeof value === "number" ? String(Number(value.toPrecision(10))) : value === undefined || value === null ? "" : String(value);
}

function inRadians(value) {
  return typeof value === "number" ? value / DEGREE : value;
}

// Angles without the digits that are rounding.
function shownDegrees(value) {
  if (Array.isArray(value)) return value.map(shownDegrees).join(", ");
  return typeof value === "number" ? shownValue(Number((value * DEGREE).toFixed(9))).replace(/^(-?\d+\.\d{6})\d+$/, "$1") : shownValue(value);
}

// Long numbers as far as they can be seen in a narrow field; all their digits are shown once it is typed into.
function shortened(text) {
  return text.split(", ").map((part) => (part.length > LONG && Number.isFinite(Number(part)) ? shownValue(Number(Number(part).toPrecision(SEEN))) : part)).join(", ");
}

export const KINDS = {
  number: { read: parsed, show: shownValue },
  each: { read: parsedEach, show: shownValue },
  degrees: { read: (text) => inRadians(parsed(text)), show: shownDegrees },
  eachInDegrees: { read: (text) => { const found = parsedEach(text); return Array.isArray(found) ? found.map(inRadians) : inRadians(found); }, show: shownDegrees },
  text: { read: (text) => text, show: shownValue },
};

let counted = 0;

// Where the error of a field is shown.
export function errorNote(id) {
  return el("p", { class: "error", id, hidden: true });
}

// A table that scrolls: heads of the columns, rows as elements.
export function grid(heads, rows) {
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((head) => (head ? el("th", { scope: "col" }, head) : el("td", {}))))), el("tbody", {}, ...rows)));
}

// A labelled input. options: { path, kind, unit, slider: [least, most, step], value, changed(value), wide, hint, narrow: whether it shows few digits }
export function field(label, { path, kind = "number", unit = "", slider = null, value, changed, wide = false, hint = "", placeholder = "", narrow = false }) {
  const id = `f${++counted}`, { read, show } = kind.read ? kind : KINDS[kind], brief = narrow ? shortened : (text) => text;
  const input = el("input", { type: "text", id, "data-path": path, "aria-label": label, title: hint || label, inputmode: kind === "number" || kind === "degrees" ? "decimal" : null, autocomplete: "off", spellcheck: "false", value: brief(show(value)), placeholder, "aria-describedby": `${id}e` });
  const range = slider ? el("input", { type: "range", min: slider[0], max: slider[1], step: slider[2], "aria-label": `${label}, slider`, tabindex: -1 }) : null;
  const slide = (now) => { if (range) range.value = typeof now === "number" ? now : slider[0]; };
  let all = show(value);
  slide(value);
  input.addEventListener("focus", () => {
    if (input.value === all || input.value !== brief(all)) return;
    input.value = all;
    input.select();  // as the key Tab has selected it
  });
  input.addEventListener("blur", () => { if (input.value === all) input.value = brief(all); });
  input.addEventListener("input", () => { changed(read(input.value)); slide(read(input.value)); });
  range?.addEventListener("input", () => { input.value = range.value; changed(Number(range.value)); });
  input.showValue = (now) => { all = show(now); if (document.activeElement !== input) input.value = brief(all); slide(now); };
  return el("div", { class: `row${wide ? " wide" : ""}` },
    el("label", { for: id }, label, unit ? el("small", {}, ` ${unit}`) : null), range, input, errorNote(`${id}e`));
}

export function choice(label, { path, options, value, changed }) {
  const id = `f${++counted}`, box = select(label, options, value, changed);
  for (const [name, text] of [["id", id], ["data-path", path], ["aria-describedby", `${id}e`]]) box.setAttribute(name, text);
  box.showValue = (now) => { if (options.some(([key]) => key === (now ?? ""))) box.value = now ?? ""; };
  return el("div", { class: "row" }, el("label", { for: id }, label), box, errorNote(`${id}e`));
}

// A switch with what belongs to it beneath.
export function toggled(label, on, changed, path, ...children) {
  const box = checkbox(label, on, changed);
  box.firstChild.dataset.path = path;
  return el("div", { class: `toggled${on ? " on" : ""}` }, box, ...(on ? children : []));
}

export function clearErrors(root) {
  for (const node of root.querySelectorAll(".error")) Object.assign(node, { hidden: true, textContent: "" });
  for (const node of root.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
}

// Show a sentence at the field whose key it names, or the nearest above it; return whether there is one.
export function showError(root, { text, path }) {
  clearErrors(root);
  const nodes = [...root.querySelectorAll("[data-path]")], near = (node) => path === node.dataset.path || path.startsWith(`${node.dataset.path}.`);
  const found = nodes.filter((node) => path && near(node)).sort((a, b) => b.dataset.path.length - a.dataset.path.length)[0]
    || nodes.find((node) => path && node.dataset.path.startsWith(`${path}.`));
  if (!found) return false;
  for (let part = found.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  const row = found.closest(".row, .toggled, tr"), note = row?.querySelector(".error") || row?.nextElementSibling?.querySelector?.(".error");
  if (!note) return false;
  found.setAttribute("aria-invalid", "true");
  Object.assign(note, { hidden: false, textContent: text });
  return true;
}
