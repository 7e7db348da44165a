// Panes with a plane: the stability diagram over one or two values of the model, and the map of flips over two start angles.

import { Field, edgesOf } from "/web/field.js";
import { Pane, table } from "./pane.js";
import { TimePlot } from "/web/plots.js";
import { choice, errorNote, field } from "./fields.js";
import { decoded } from "/web/data.js";
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

  // Show a finer map, or one of another region, in the same view if that is a part of it.
  swap(content) {
    const edges = [edgesOf(content.x), edgesOf(content.y)], near = (a, b) => Math.abs(a - b) < 1e-6 * (1 + Math.abs(a));
    const same = edges.every((pair, side) => pair.every((edge, k) => near(edge, this.edges[side][k])));
    Object.assign(this, { content, edges });
    if (!same) this.fit();
    this.show(Math.min(this.layer, content.layers.length - 1));
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
    this.values = { vary: "loads.follower_force", low: "", high: "", vary2: "", low2: "", high2: "" };
    this.arrange();
    onTheme(() => this.draw());
  }

  arrange() {
    const { values } = this, options = [...this.varied, ...(this.studio.model.table.pin ? CLOSED : [])];
    const second = choice("and", { path: "vary2", options: [["", "nothing else"], ...options], value: values.vary2, changed: (value) => { Object.assign(values, { vary2: value, low2: "", high2: "" }); this.arrange(); } });
    this.place(choice("Vary", { path: "vary", options, value: values.vary, changed: (value) => { Object.assign(values, { vary: value, low: "", high: "" }); this.arrange(); } }), this.bound("from", "low"), this.bound("to", "high"), second, ...(values.vary2 ? [this.bound("from", "low2"), this.bound("to", "high2")] : []));
  }

  // The end of a range; an empty field leaves it to the studio.
  bound(label, name) {
    return field(label, { path: name, value: this.values[name], placeholder: "chosen", hint: "left empty it is chosen from the chain", changed: (value) => { this.values[name] = value; } });
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
      made.show(rows.map((values) => ({ t, values: Float64Array.from(values), colour, width: 1.6 })), { trusted: null, from: t[0], to: t[t.length - 1], critical: critical.map(({ load }) => load) });
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
    super(studio, { name: "Map", kind: "flips", go: "Compute", again: "compute", hint: "How long until a link turns over, from every start of a plane. Zoom in and compute finer there; press a point to start there." });
    this.values = { across: 0, up: 1, size: 200, t_end: "", region: null };
    Object.assign(this, { next: "across", layer: 0 });
    this.finer = el("button", { type: "button", class: "word", disabled: true, title: "Compute what is shown now", onclick: () => this.zoomed() }, "Finer here");
    this.whole = el("button", { type: "button", class: "word", hidden: true, onclick: () => this.back() }, "Whole plane");
    this.arrange();
  }

  // The links whose angles can be chosen: those of the last two of a closed chain follow from the others.
  get free() {
    const { table } = this.studio.model;
    return linkCount(table) - (table.pin ? 2 : 0);
  }

  // The two angles are chosen by pressing them: the first across, the next up. One alone goes with its rate.
  arrange() {
    const { values, free } = this;
    if (values.across >= free) values.across = 0;
    if (values.up >= free || values.up === values.across) values.up = values.across ? 0 : Math.min(1, free - 1);
    const chip = (i) => el("button", { type: "button", class: "chip", "aria-pressed": String(i === values.across || i === values.up), onclick: () => this.pick(i) }, `\u03b8${i + 1}`, el("small", {}, i === values.across ? " across" : i === values.up ? " up" : ""));
    const inside = free > 1 ? Array.from({ length: Math.min(free, 12) }, (_, i) => chip(i)) : [el("span", {}, "\u03b81 across, its rate up")];
    const chips = el("div", { class: "boxes row", role: "group", "aria-label": "Two angles" }, ...inside, el("input", { type: "hidden", "data-path": "up" }), errorNote());
    const shown = choice("Colours", { path: "layer", options: [["0", "time of the first flip"], ["1", "which link flips first"]], value: String(this.layer), changed: (value) => { this.layer = Number(value); this.plane?.show(this.layer); } });
    this.place(chips, this.number("Cells a side", "size"), field("Until", { path: "t_end", unit: "s", value: values.t_end, placeholder: "chosen", changed: (value) => { values.t_end = value; } }), shown, this.finer, this.whole);
  }

  changed(how) {
    super.changed(how);
    if (!this.job) this.forget();
  }

  // A part of another model's plane is no longer of use.
  forget() {
    this.values.region = this.base = null;
    this.whole.hidden = true;
  }

  pick(i) {
    const { values } = this, other = this.next === "across" ? "up" : "across";
    if (i === values[other]) values[other] = values[this.next];
    values[this.next] = i;
    this.next = other;
    this.forget();
    this.arrange();
  }

  go() {
    this.made = { across: this.values.across, up: this.values.up, size: 4 };
    super.go();
  }

  zoomed() {
    if (this.plane.fitted) return;
    this.base ??= this.plane.content;
    this.values.region = this.plane.window.flat();
    this.go();
  }

  // The whole plane as it was computed.
  back() {
    if (this.job) this.studio.line.drop(this.job);
    this.set(null);
    this.plane.swap(this.base);
    this.forget();
    this.say("");
  }

  part(message) {
    if (message.type === "compiling") this.say(message.text);
    else if (message.type === "plane") this.take(message, this.job);
  }

  async take(message, job) {
    const content = await decoded(message);
    if (job !== this.job && this.job !== null) return;
    this.t_end = message.t_end;
    this.show(content);
    if (this.job) this.say(`${content.x.length} \u00d7 ${content.y.length} starts; finer ones are coming`);
    else this.tell();
  }

  show(content) {
    this.filled = true;
    this.whole.hidden = !this.values.region;
    if (this.plane?.root.isConnected) {
      this.plane.swap(content);
      return;
    }
    const root = el("div", { class: "plane" });
    this.body.replaceChildren(root);
    this.plane = new StudioField(root, content, (column, row) => this.start(this.plane.content, column, row));
    this.plane.moved = () => { this.finer.disabled = this.plane.fitted; };
    this.plane.show(this.layer);
  }

  // Start at a cell; the last links of a closed chain are turned so that it closes.
  async start({ x, y }, column, row) {
    const answer = await this.studio.line.ask("/api/cell", { ...this.values, ...this.made, model: this.studio.model.table, x: x[column], y: y[row] });
    if (answer.error) this.fail(answer.error);
    else this.studio.startAt(answer.start);
  }

  done() {
    this.tell();
  }

  tell() {
    if (!this.plane) return;
    const { values } = this.plane.content.layers[0], share = values.filter(Number.isFinite).length / values.length;
    this.say(`${Math.round(100 * share)} % turn over within ${valueText(this.t_end, 4)} s. Press a point to start there.`);
  }
}
