// The controls beside the stage: a slider and a field for each number of the chain, its loads, its start and its near-copies.

import { el, select } from "./dom.js";
import { minus, valueText } from "./axes.js";
import { setText } from "./panels.js";

const PER_RADIAN = 180 / Math.PI;
const DIGITS = 5;
const START = "Start";
const DIFFERENCES = [1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1];

function numberText(value) {
  return minus(String(Number(value.toPrecision(DIGITS))));
}

function differenceText(value) {
  return `${minus(value >= 1e-3 ? String(value) : value.toExponential())} rad`;
}

let made = 0;

// A labelled slider with a field. get() returns the number, or null where links differ; set(number) changes it.
function row({ label, unit, range: [low, high, step], least = null, above = null, most = 1e9, whole = false, get, set }) {
  const id = `n${++made}`, note = el("p", { class: "error", id: `${id}e`, hidden: true });
  const field = el("input", { type: "text", id, inputmode: "decimal", autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}e` });
  const slider = el("input", { type: "range", min: low, max: high, step, "aria-label": `${label}, slider` });
  const show = () => {
    const value = get();
    if (document.activeElement !== field) field.value = value === null ? "" : numberText(value);
    field.title = value === null ? "" : minus(String(value));
    field.placeholder = value === null ? "differ" : "";
    if (value !== null) slider.value = value;
    slider.setAttribute("aria-valuetext", value === null ? "links differ" : `${valueText(value, 4)} ${unit}`);
  };
  const tell = (text) => {
    setText(note, text);
    note.hidden = !text;
    field.setAttribute("aria-invalid", String(Boolean(text)));
  };
  const change = (value) => {
    tell(wrong(value, { least, above, most, whole }));
    if (note.hidden) set(value);
  };
  slider.addEventListener("input", () => {
    change(Number(slider.value));
    show();
  });
  field.addEventListener("change", () => change(Number(field.value.trim().replace(/\u2212/g, "-") || NaN)));
  field.addEventListener("blur", () => {
    tell("");
    show();
  });
  const node = el("div", { class: "row" }, el("label", { for: id }, label, unit ? el("small", {}, ` ${unit}`) : null), slider, field, note);
  return { node, show };
}

function wrong(value, { least, above, most, whole }) {
  if (!Number.isFinite(value)) return "must be a number";
  if (Math.abs(value) > most) return `must be at most ${most}`;
  if (whole && !Number.isInteger(value)) return "must be a whole number";
  if (above !== null && value <= above) return `must be above ${above}`;
  return least !== null && value < least ? `must be at least ${least}` : "";
}

export class Controls {
  // page: { changed(act), restarted(act), gathered(act), reset() }: each applies what `act` does to the simulation, and shows it.
  constructor(simulation, page) {
    Object.assign(this, { simulation, page, link: -1, rows: [] });
    const { model } = simulation, links = [[-1, "all links"], ...Array.from({ length: model.n }, (_, i) => [i, `link ${i + 1}`])];
    this.chooser = select("Links that the controls change", links, -1, (value) => this.choose(Number(value)));
    const reset = el("button", { type: "button", class: "wide", "aria-label": "Reset to the model", title: "Reset to the model (r)", onclick: () => page.reset() }, "Reset");
    const head = el("div", { class: "chooser" }, model.n > 1 ? el("label", { class: "field" }, el("span", {}, "Change"), this.chooser) : null, reset);
    const groups = [...new Set(model.parameters.map(({ group }) => group))].filter(Boolean).map((group) => this.group(group));
    this.node = el("aside", { class: "side", "aria-label": "Numbers of the chain" }, head, this.copies(), ...groups, this.start());
    this.show();
  }

  part(name, open, ...children) {
    return el("details", { class: "part", open }, el("summary", {}, name), ...children);
  }

  add(options) {
    const made = row(options);
    this.rows.push(made);
    return made.node;
  }

  // The number of the chosen link in an array; of all links if they agree, else null.
  picked(values) {
    if (this.link >= 0) return values[this.link];
    return values.every((value) => value === values[0]) ? values[0] : null;
  }

  put(values, value) {
    if (this.link >= 0) values[this.link] = value;
    else values.fill(value);
  }

  group(name) {
    const { simulation } = this, own = simulation.model.parameters.filter(({ group }) => group === name);
    const rows = own.map((each) => this.add({
      ...each,
      get: () => (each.each ? this.picked(simulation.values[each.name]) : simulation.values[each.name]),
      set: (value) => this.page.changed(() => {
        if (each.each) this.put(simulation.values[each.name], value);
        else simulation.values[each.name] = value;
      }),
    }));
    return this.part(name, own.some(({ shown }) => shown), ...rows);
  }

  start() {
    const { simulation } = this, made = (label, unit, key, range, factor) => this.add({
      label, unit, range,
      get: () => { const value = this.picked(simulation.origin[key]); return value === null ? null : value * factor; },
      set: (value) => this.page.restarted(() => this.put(simulation.origin[key], value / factor)),
    });
    return this.part(START, false, made("Angle", "\u00b0", "theta", [-180, 180, 1], PER_RADIAN), made("Rate", "rad/s", "omega", [-20, 20, 0.1], 1));
  }

  copies() {
    const { simulation, page } = this;
    const count = this.add({
      label: "Number", unit: "", range: [0, simulation.model.most, 1], least: 0, most: simulation.model.most, whole: true,
      get: () => simulation.count, set: (value) => page.gathered(() => { simulation.count = value; }),
    });
    const sizes = [...new Set([...DIFFERENCES, simulation.model.difference])].sort((a, b) => a - b).map((value) => [value, differenceText(value)]);
    this.difference = select("Difference of the first angle", sizes, simulation.difference, (value) => page.gathered(() => { simulation.difference = Number(value); }));
    const again = el("button", { type: "button", class: "wide", onclick: () => page.gathered(() => {}) }, "Gather");
    return this.part("Near-copies", true, count, el("div", { class: "row" }, el("span", {}, "Differ by"), this.difference, again));
  }

  choose(link) {
    this.link = link;
    this.chooser.value = link;
    this.show();
  }

  show() {
    this.rows.forEach((each) => each.show());
    const { difference } = this.simulation;
    if (![...this.difference.options].some((option) => Number(option.value) === difference)) this.difference.append(el("option", { value: difference }, differenceText(difference)));
    this.difference.value = difference;
  }
}
