// Panes with a plane: the stability diagram over one or two values of the model, and the map of flips over two start angles.

import { Field } from "/web/field.js";
import { Pane, table } from "./pane.js";
import { TimePlot } from "/web/plots.js";
import { choice, errorNote } from "./fields.js";
import { el, picture, placeIn } from "/web/dom.js";
import { linkCount } from "./model.js";
import { card, setText } from "/web/panels.js";
import { onTheme } from "/web/colours.js";
import { valueText } from "/web/axes.js";

const CLOSED = [["pin.x", "pin x (m)"], ["pin.y", "pin y (m)"]];

// A map whose keys work only while it is seen, and that tells which cell was pressed.
class StudioField extends Field {
  constructor(root, content, pressed) {
    super(root, content);
    if (pressed) this.canvas.addEventListener("click", (event) => {
      this.draw();
      const cell = this.cell(placeIn(this.canvas, event));
      if (cell) pressed(...cell);
    });
  }

  key(event) {
    if (!this.root.offsetParent || event.target.closest?.("form, [role=tablist], input, select, textarea")) return;
    super.key(event);
  }
}

export class StabilityPane extends Pane {
  constructor(studio) {
    super(studio, { name: "Stability", kind: "stability", go: "Draw", again: "draw", hint: "How growth and frequency of small motions change with a load, and where stability is lost." });
    this.varied = studio.known.loads.filter(({ name }) => name !== "tip_force").map(({ name, label, unit }) => [`loads.${name}`, `${label.toLowerCase()} (${unit})`]);
    this.values = { vary: "loads.follower_force", low: 0, high: 10, vary2: "", low2: 0, high2: 1 };
    this.arrange();
    onTheme(() => this.draw());
  }

  arrange() {
    const { values } = this, options = [...this.varied, ...(this.studio.model.table.pin ? CLOSED : [])];
    const second = choice("and", { path: "vary2", options: [["", "nothing else"], ...options], value: values.vary2, changed: (value) => { values.vary2 = value; this.arrange(); } });
    this.place(choice("Vary", { path: "vary", options, value: values.vary, changed: (value) => { values.vary = value; } }), this.number("from", "low"), this.number("to", "high"), second, ...(values.vary2 ? [this.number("from", "low2"), this.number("to", "high2")] : []));
  }

  labelOf(key) {
    return this.varied.concat(CLOSED).find(([name]) => name === key)[1];
  }

  done(message, content) {
    if (content) this.map(content);
    else this.lines(message);
  }

  map(content) {
    Object.assign(content, { xlabel: this.labelOf(this.values.vary), ylabel: this.labelOf(this.values.vary2) });
    this.plots = null;
    this.body.replaceChildren(el("div", { class: "plane" }));
    this.plane = new StudioField(this.body.firstChild, content);
  }

  lines({ loads, growth, frequency, critical, reason }) {
    const label = this.labelOf(this.values.vary), t = Float64Array.from(loads);
    this.plane = null;
    this.readout = el("p", { class: "readout" }, `across: ${label}`);
    const plot = (name, rows, colour) => {
      const made = new TimePlot(picture(name), (load) => this.point(load, t, growth, frequency));
      made.unitX = "";
      made.show(rows.map((values) => ({ t, values: Float64Array.from(values), colour, width: 1.6 })), { trusted: null, from: t[0], to: t[t.length - 1] });
      const { node, legend } = card(name, made.canvas);
      legend.remove();
      return { made, node };
    };
    const drawn = [plot("Growth (1/s)", growth, "accent"), plot("Frequency (rad/s)", frequency.map((row) => row.map(Math.abs)), "second")];
    this.plots = drawn.map(({ made }) => made);
    const rows = critical.map((one) => [valueText(one.load, 8), `${one.kind} ${one.lost ? "begins" : "ends"}`, one.frequency ? `${valueText(one.frequency, 6)} rad/s` : "\u2013"]);
    const found = rows.length ? table([label, "what happens", "frequency"], rows) : el("p", { class: "note-line" }, reason);
    this.body.replaceChildren(found, el("div", { class: "pair" }, ...drawn.map(({ node }) => node)), this.readout);
    this.load = NaN;
    this.observer ??= new ResizeObserver(() => this.draw());
    for (const made of this.plots) this.observer.observe(made.canvas);
    this.draw();
  }

  point(load, t, growth, frequency) {
    const k = Math.max(0, Math.round(((load - t[0]) / (t[t.length - 1] - t[0])) * (t.length - 1))), worst = growth.reduce((best, row, i) => (row[k] > growth[best][k] ? i : best), 0);
    this.load = t[k];
    setText(this.readout, `at ${valueText(t[k], 4)}: growth ${valueText(growth[worst][k], 4)} 1/s at ${valueText(Math.abs(frequency[worst][k]), 4)} rad/s`);
    this.draw();
  }

  draw() {
    for (const made of this.plots ?? []) if (made.canvas.clientWidth > 1) made.draw(this.load);
  }

  shown() {
    this.draw();
  }
}

export class MapPane extends Pane {
  constructor(studio) {
    super(studio, { name: "Map", kind: "flips", go: "Compute", again: "compute", hint: "How long until a link turns over, from every pair of two start angles. Press a cell to start there." });
    this.values = { across: 0, up: 1, size: 40, t_end: 10 };
    this.next = "across";
    this.arrange();
  }

  // The two angles are chosen by pressing them: the first across, the next up.
  arrange() {
    const { values } = this, n = linkCount(this.studio.model.table);
    if (values.across >= n) values.across = 0;
    if (values.up >= n || values.up === values.across) values.up = values.across ? 0 : Math.min(1, n - 1);
    const chip = (i) => el("button", { type: "button", class: "chip", "aria-pressed": String(i === values.across || i === values.up), onclick: () => this.pick(i) }, `\u03b8${i + 1}`, el("small", {}, i === values.across ? " across" : i === values.up ? " up" : ""));
    const chips = el("div", { class: "boxes row", role: "group", "aria-label": "Two angles" }, ...Array.from({ length: Math.min(n, 12) }, (_, i) => chip(i)), el("input", { type: "hidden", "data-path": "up" }), errorNote());
    this.place(chips, this.number("Cells a side", "size"), this.number("Until", "t_end", "s"));
  }

  pick(i) {
    const { values } = this, other = this.next === "across" ? "up" : "across";
    if (i === values[other]) values[other] = values[this.next];
    values[this.next] = i;
    this.next = other;
    this.arrange();
  }

  part(message) {
    if (message.type === "grid") this.begin(message);
    else if (message.type === "cells") this.fill(message.cells);
    else if (message.type === "compiling") this.say(message.text);
  }

  begin({ size, low, high, t_end }) {
    const degrees = Array.from({ length: size }, (_, k) => ((low + ((k + 0.5) / size) * (high - low)) * 180) / Math.PI);
    const { across, up } = this.values, values = new Float64Array(size * size).fill(NaN);
    this.grid = { size, degrees, across, up, t_end };
    this.filled = true;
    const content = { title: "Flips", summary: "", about: "", words: [], x: degrees, y: degrees, xlabel: `angle of link ${across + 1} (\u00b0)`, ylabel: `angle of link ${up + 1} (\u00b0)`, layers: [{ name: "time to the first flip", unit: "s", kinds: null, values }] };
    const root = el("div", { class: "plane" });
    this.body.replaceChildren(root);
    this.plane = new StudioField(root, content, (column, row) => this.studio.turn({ [across]: degrees[column], [up]: degrees[row] }));
  }

  // Squares of cells; a chain that never turns over stays blank, like one that is still to come.
  fill(cells) {
    const { size } = this.grid, { values } = this.plane.content.layers[0];
    for (const [row, column, side, time] of cells) {
      for (let y = row; y < Math.min(size, row + side); y++) for (let x = column; x < Math.min(size, column + side); x++) values[y * size + x] = time ?? NaN;
    }
    if (values.some(Number.isFinite)) this.plane.show(0);
  }

  done(message) {
    this.fill(message.cells);
    const { values } = this.plane.content.layers[0], share = values.filter(Number.isFinite).length / values.length;
    this.say(`${Math.round(100 * share)} % turn over within ${valueText(this.grid.t_end, 4)} s; blank: none does. Press a cell to start there.`);
  }
}
