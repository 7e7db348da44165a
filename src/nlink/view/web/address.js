// What has been changed, as the part of the address behind #: parameters by their names, the start in rad, the near-copies.

import { dialog, el } from "./dom.js";
import { setText } from "./panels.js";

const LARGEST = 1e9;

// The fields of a simulation that an address may have: their names, how many numbers, the bounds, the model's own values.
function fieldsOf(model) {
  const { n, start } = model, own = model.parameters.filter(({ group }) => group);
  return [
    ...own.map(({ name, each, value, least, above }) => ({ name, count: each ? n : 1, value: each ? value : [value], least, above })),
    { name: "theta", count: n, value: start.theta }, { name: "omega", count: n, value: start.omega },
    { name: "copies", count: 1, value: [model.copies], least: 0, most: model.most, whole: true },
    { name: "difference", count: 1, value: [model.difference] },
  ];
}

const STARTS = ["theta", "omega"];
const COPIES = { copies: "count", difference: "difference" };

// The changes of a simulation as text; nothing if there are none.
export function written(simulation) {
  const { model, values, origin } = simulation, found = new URLSearchParams();
  for (const { name, value } of fieldsOf(model)) {
    const now = [STARTS.includes(name) ? origin[name] : name in COPIES ? simulation[COPIES[name]] : values[name]].flat();
    if (now.every((number, k) => number === value[k])) continue;
    found.set(name, now.every((number) => number === now[0]) ? now[0] : now.join(","));
  }
  return String(found).replaceAll("%2C", ",");
}

// The numbers of a text by their fields; what is wrong with it is thrown as a sentence.
export function read(model, text) {
  const fields = fieldsOf(model), found = {};
  for (const [name, part] of new URLSearchParams(text)) {
    const field = fields.find((each) => each.name === name);
    if (!field) throw new Error(`it has ${JSON.stringify(name.slice(0, 40))}, which this chain does not have`);
    const numbers = part.split(",").map((word) => (word.trim() === "" ? NaN : Number(word)));
    if (numbers.length !== 1 && numbers.length !== field.count) throw new Error(`${name} must have 1 or ${field.count} numbers, got ${numbers.length}`);
    for (const number of numbers) check(field, number, part);
    found[name] = numbers.length === 1 ? Array(field.count).fill(numbers[0]) : numbers;
  }
  return found;
}

function check({ name, least = null, above = null, most = LARGEST, whole = false }, number, part) {
  const got = `got ${part.slice(0, 40)}`;
  if (!Number.isFinite(number) || (whole && !Number.isInteger(number))) throw new Error(`${name} must be ${whole ? "a whole number" : "numbers"}, ${got}`);
  if (Math.abs(number) > most) throw new Error(`${name} must be at most ${most} in magnitude, ${got}`);
  if (above !== null && number <= above) throw new Error(`${name} must be above ${above}, ${got}`);
  if (least !== null && number < least) throw new Error(`${name} must be at least ${least}, ${got}`);
}

// Put what was read into a simulation, and begin anew.
export function apply(simulation, found) {
  simulation.restore();
  for (const [name, numbers] of Object.entries(found)) {
    if (STARTS.includes(name)) simulation.origin[name] = numbers;
    else if (name in COPIES) [simulation[COPIES[name]]] = numbers;
    else simulation.values[name] = Array.isArray(simulation.values[name]) ? numbers : numbers[0];
  }
  simulation.refresh();
  simulation.restart();
}

// The dialog that shows the address of a simulation, to copy it.
export class Sharing {
  constructor() {
    const copied = el("span", { role: "status" }), copy = async () => {
      this.field.select();
      const done = await (navigator.clipboard?.writeText(this.field.value) ?? Promise.reject()).then(() => true, () => document.execCommand("copy"));
      setText(copied, done ? "copied" : "press Ctrl C to copy it");
    };
    this.field = el("input", { type: "text", readonly: true, "aria-label": "Address", onfocus: (event) => event.currentTarget.select() });
    this.node = dialog("Share", el("p", {}, "This address has the numbers and the start that you chose. Opened with this page, it begins so. Nothing is sent anywhere."),
      el("div", { class: "address" }, this.field, el("button", { type: "button", class: "wide", onclick: copy }, "Copy")), copied);
  }

  show(simulation) {
    const text = written(simulation);
    history.replaceState(null, "", text ? `#${text}` : location.pathname);
    this.field.value = location.href;
    this.node.showModal();
  }
}
