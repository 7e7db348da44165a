// The form of a model: its links, start, loads, pin and settings.

import { Bodies, isMechanism, nameOf } from "./bodies.js";
import { choice, errorNote, field, grid, toggled } from "./fields.js";
import { SpaceForm } from "./spaceform.js";
import { at, linkCount } from "./model.js";
import { el } from "/web/dom.js";

const SHAPES = [["rod", "rod"], ["point", "point mass"], ["own", "own"]];
const MANY = 24;
const CONSTRAINED = ["maximal", "natural"];
const CONSTRAINTS = [["", "none: they drift"], ["Baumgarte()", "Baumgarte"], ["Projection()", "projection"], ["Penalty()", "penalty"], ["AugmentedLagrangian()", "augmented Lagrangian"], ["MultiplierFilter()", "multiplier filter"], ["IDA()", "IDA (SUNDIALS)"]];
const FIXED = { RK4: 0.001, Gauss: 0.01, Rattle: 0.01 };
const METHODS = [["", "chosen for the chain"], ["DOP853", "DOP853, order 8"], ["RK45", "RK45, order 5"], ["RK4", "RK4, fixed step"], ["Gauss", "Gauss, symplectic"], ["Taylor", "Taylor series"], ["Radau", "Radau, stiff"], ["BDF", "BDF, stiff"], ["LSODA", "LSODA"]];

const IN_SPACE = ["recursive", "natural"];
const METHODS_IN_SPACE = [...METHODS.filter(([key]) => key !== "Gauss"), ["Rattle", "Rattle, symplectic"]];
const TOWARDS = { key: "fz", label: "To the viewer", unit: "N", each: false, slider: [-20, 20, 0.1] };

// A load as it is in space: a force has a third component, a spring no angle of rest.
function inSpace(name, first, fields) {
  if (name === "tip_force") return [{ ...first, fz: 0 }, [...fields, TOWARDS]];
  if (name === "joint_spring") return [{ stiffness: first.stiffness }, fields.filter(({ key }) => key !== "rest")];
  return [first, fields];
}

export class Editor {
  constructor(model, known) {
    Object.assign(this, { model, known, open: { Chain: true, Start: true, Loads: true, Run: true } });
    this.bodies = new Bodies(this);
    this.space = new SpaceForm(this);
    this.node = el("form", { class: "editor", "aria-label": "Model", onsubmit: (event) => event.preventDefault() });
  }

  get table() {
    return this.model.table;
  }

  // Make the form anew, keeping the focus where it was.
  render() {
    const active = this.node.contains(document.activeElement) ? document.activeElement.dataset.path : null;
    for (const part of this.node.querySelectorAll("details")) this.open[part.dataset.name] = part.open;
    this.node.replaceChildren(...[["Chain", this.chain()], ["Start", this.start()], ["Loads", this.loads()], ["Run", this.run()]].map(([name, rows]) =>
      el("details", { open: this.open[name], "data-name": name }, el("summary", {}, name === "Chain" && isMechanism(this.table) ? "Mechanism" : name), el("div", { class: "rows" }, ...rows))));
    this.tellMethod(this.method);
    if (active) this.node.querySelector(`[data-path="${CSS.escape(active)}"]`)?.focus();
  }

  // Put the values of the model into the fields that show them: all, or those of a start, which a pose changes.
  refresh(fields = "[data-path]") {
    for (const node of this.node.querySelectorAll(fields)) node.showValue?.(at(this.table, node.dataset.path));
  }

  // The integrator that has run, where nlink chooses it.
  tellMethod(text) {
    this.method = text;
    const option = this.node.querySelector('[data-path="run.integrator"] option[value=""]');
    if (!option || !text) return;
    option.textContent = `chosen: ${text.replace(/\(.*?order=(\d+).*\)/, ", order $1").replace(/\(.*/, "")}`;
    option.title = text;
  }

  field(label, path, options = {}) {
    return field(label, { path, value: at(this.table, path), changed: (value) => this.model.set(path, value), ...options });
  }

  chain() {
    const { table, model } = this, each = Array.isArray(table.links), n = linkCount(table);
    if (table.space) return this.space.chain();
    const title = this.field("Title", "title", { kind: "text", wide: true });
    if (isMechanism(table) && each) return [title, ...this.bodies.rows()];
    const count = field("Links", { path: "links", value: each ? n : table.links, slider: [1, 20, 1], changed: (value) => (Number.isInteger(value) && value >= 1 && value <= 200 ? model.resize(value) : model.set("links", value)) });
    const rows = each ? [this.linkTable()] : this.equalLinks();
    const alike = n > 1 ? [toggled("All links alike", !each, (on) => model.unlike(!on), "alike")] : [];
    return [title, ...(table.pin ? [] : [this.space.toggle()]), count, ...alike, ...rows, this.pin()];
  }

  shape(row, prefix) {
    const own = !row.shape && ("com" in row || "inertia" in row);
    const changed = (value) => {
      const { length = 1, mass = 1 } = row, point = row.shape === "point";
      const keys = value === "own" ? { shape: undefined, com: point ? length : length / 2, offset: 0, inertia: point ? 0 : (mass * length ** 2) / 12 } : { shape: value, com: undefined, offset: undefined, inertia: undefined };
      let table = this.table;
      if (prefix) table = { ...table, links: table.links.map((each, i) => (i === Number(prefix.split(".")[1]) ? clean({ ...each, ...keys }) : each)) };
      else table = clean({ ...table, ...keys });
      this.model.load(table);
    };
    return { value: own ? "own" : row.shape || "rod", changed };
  }

  equalLinks() {
    const { table } = this, { value, changed } = this.shape(table, "");
    const rows = [choice("Shape", { path: "shape", options: SHAPES, value, changed }), this.field("Length", "length", { unit: "m", slider: [0.05, 3, 0.05] }), this.field("Mass", "mass", { unit: "kg", slider: [0, 10, 0.05] })];
    if (value === "own") rows.push(this.field("Centre of mass", "com", { unit: "m along" }), this.field("Off the axis", "offset", { unit: "m" }), this.field("Inertia", "inertia", { unit: "kg m\u00b2" }));
    return rows;
  }

  linkTable() {
    const own = this.table.links.some((row) => !row.shape && "com" in row);
    const heads = ["", "shape", "length m", "mass kg", ...(own ? ["com m", "offset m", "inertia"] : [])];
    const body = this.table.links.flatMap((row, i) => {
      const { value, changed } = this.shape(row, `links.${i}`);
      const box = choice(`Shape of link ${i + 1}`, { path: `links.${i}.shape`, options: SHAPES, value, changed }).querySelector("select");
      const cells = ["length", "mass", ...(own ? ["com", "offset", "inertia"] : [])].map((key) => el("td", {}, key in row ? this.cell(`${key} of link ${i + 1}`, `links.${i}.${key}`) : "\u2013"));
      return [el("tr", {}, el("th", { scope: "row" }, String(i + 1)), el("td", {}, box), ...cells), el("tr", { class: "below" }, el("td", { colspan: heads.length }, errorNote()))];
    });
    return grid(heads, body);
  }

  cell(label, path, options) {
    return this.field(label, path, options).querySelector("input");
  }

  pin() {
    const { table, model } = this, on = Boolean(table.pin);
    const changed = (now) => {
      if (!now) return model.set("pin", undefined, "whole");
      const length = Array.isArray(table.links) ? table.links.reduce((sum, link) => sum + (Number(link.length) || 0), 0) : linkCount(table) * (Number(table.length) || 1);
      const x = Number((0.6 * length).toPrecision(3));
      return model.load({ ...table, pin: { x, y: 0 }, start: "zigzag" });
    };
    return toggled("Pin at the last end: a closed chain", on, changed, "pin", ...(on ? [this.field("Pin x", "pin.x", { unit: "m", slider: [-5, 5, 0.05] }), this.field("Pin y", "pin.y", { unit: "m", slider: [-5, 5, 0.05] })] : []), errorNote());
  }

  start() {
    if (this.table.space) return this.space.start();
    const { table, model } = this, n = linkCount(table), theta = table.start?.theta;
    const shapes = [["", "as posed"], ["hanging", "hanging"], ["zigzag", "zig-zag"], ["line45", "in line, 45\u00b0"], ["line90", "in line, 90\u00b0"], ["line170", "in line, 170\u00b0"]];
    const changed = (value) => { if (value) model.load({ ...table, start: value.startsWith("line") ? { shape: "line", angle: Number(value.slice(4)), unit: "deg" } : value }); };
    const pose = choice("Pose", { path: "start.shape", options: shapes, value: "", changed });
    if (!Array.isArray(theta)) return [pose];
    const poses = table.pins ? [] : [pose];
    const shown = Math.min(n, MANY), slides = (i) => table.links[i]?.kind === "slider", both = Array.from({ length: n }, (_, i) => slides(i)).some(Boolean);
    const rows = Array.from({ length: shown }, (_, i) => {
      const name = nameOf(table.links[i], i), cell = (label, path) => el("td", {}, this.cell(label, path, slides(i) ? {} : { kind: "degrees" }));
      const labels = slides(i) ? [`Displacement of ${name} in m`, `Speed of ${name} in m/s`] : [`Angle of ${name} in degrees`, `Rate of ${name} in degrees per second`];
      return el("tr", {}, el("th", { scope: "row" }, String(i + 1)), cell(labels[0], `start.theta.${i}`), cell(labels[1], `start.omega.${i}`));
    });
    const errors = el("div", { class: "row wide" }, el("input", { type: "hidden", "data-path": "start" }), errorNote());
    const each = rows.flatMap((row) => [row, el("tr", { class: "below" }, el("td", { colspan: 3 }, errorNote()))]);
    return [...poses, errors, el("p", { class: "hint" }, "Drag a link, also while it moves, or type:"), grid(both ? ["", "angle \u00b0 or m", "rate \u00b0/s or m/s"] : ["", "angle \u00b0", "rate \u00b0/s"], each),
      ...(n > shown ? [el("p", { class: "hint" }, `and ${n - shown} more links`)] : [])];
  }

  loads() {
    const { table, model } = this;
    const rows = this.known.loads.filter(({ fields, space }) => fields && (table.space || !space)).map(({ name, label, first: usual, fields: all }) => {
      const [first, fields] = table.space ? inSpace(name, usual, all) : [usual, all];
      const value = table.loads?.[name], on = value !== undefined && !(name === "gravity" && value === 0);
      const path = `loads.${name}`, changed = (now) => model.set(path, now ? first : name === "gravity" ? 0 : undefined, "whole");
      const inner = on ? fields.map(({ key, label: text, unit, each, slider }) => this.field(text, key ? `${path}.${key}` : path, { ...(unit === "rad" ? { kind: "eachInDegrees", unit: "\u00b0" } : { kind: each ? "each" : "number", unit }), slider: slider || undefined, hint: each ? "one value for all, or one for each with commas" : text })) : [];
      return toggled(label, on, changed, path, ...inner, errorNote());
    });
    return [...rows, this.torque(), ...this.bodies.springs()];
  }

  torque() {
    const { table, model } = this, value = table.loads?.joint_torque, on = value !== undefined, path = "loads.joint_torque";
    const sine = on && typeof value === "object" && !Array.isArray(value) && "amplitude" in value, plain = on && (typeof value !== "object" || (Array.isArray(value) && value.every((one) => typeof one !== "object")));
    const kinds = [["plain", "constant"], ["sine", "sine in time"], ...(on && !sine && !plain ? [["file", "as in the file"]] : [])];
    const kind = choice("Kind", { path: `${path}.kind`, options: kinds, value: sine ? "sine" : plain ? "plain" : "file", changed: (now) => model.set(path, now === "sine" ? { amplitude: 1, frequency: 0.5, phase: 0 } : 1, "whole") });
    const fields = sine ? [this.field("Amplitude", `${path}.amplitude`, { unit: "N m" }), this.field("Frequency", `${path}.frequency`, { unit: "Hz" }), this.field("Phase", `${path}.phase`, { unit: "\u00b0", kind: "degrees" })] : plain ? [this.field("Torque", path, { unit: "N m", kind: "each" })] : [];
    return toggled("Joint torques", on, (now) => model.set(path, now ? 1 : undefined, "whole"), path, kind, ...fields, errorNote());
  }

  run() {
    const { table, model, known } = this, run = table.run || {}, formulations = table.space ? IN_SPACE : known.formulations, methods = table.space ? METHODS_IN_SPACE : METHODS;
    const [form, handling = ""] = splitRecord(run.formulation || "recursive", "constraints"), name = form.toLowerCase();
    const setForm = (which, how) => model.set("run.formulation", how && CONSTRAINED.includes(which) ? `${which[0].toUpperCase()}${which.slice(1)}(constraints=${how})` : which, "whole");
    const rows = [choice("Formulation", { path: "run.formulation", options: formulations.map((each) => [each, each]), value: name, changed: (value) => setForm(value, handling) })];
    if (CONSTRAINED.includes(name)) {
      const options = CONSTRAINTS.some(([key]) => key === handling) ? CONSTRAINTS : [...CONSTRAINTS, [handling, handling]];
      rows.push(choice("Constraints", { path: "run.formulation.constraints", options, value: handling, changed: (value) => setForm(name, value) }));
    }
    const [method, step] = splitRecord(run.integrator || "", "step"), options = methods.some(([key]) => key === method && (step !== undefined || key === run.integrator || !run.integrator)) ? methods : [...methods, [run.integrator, run.integrator]];
    const setMethod = (which, size) => model.set("run.integrator", !which ? undefined : which in FIXED ? `${which}(step=${size ?? FIXED[which]})` : which, "whole");
    rows.push(choice("Integrator", { path: "run.integrator", options, value: options === methods ? method : run.integrator, changed: (value) => setMethod(value) }));
    if (method in FIXED) rows.push(field("Step", { path: "run.integrator.step", unit: "s", value: step ?? FIXED[method], changed: (value) => model.set("run.integrator", `${method}(step=${value})`) }));
    else rows.push(field("Tolerance", { path: "run.rtol", value: run.rtol, hint: "relative and absolute tolerance", changed: (value) => { model.set("run.rtol", value); model.set("run.atol", value); } }));
    rows.push(this.field("Run until", "run.t_end", { unit: "s", slider: [1, 120, 1] }), this.field("Save every", "run.save", { unit: "s" }));
    return rows;
  }
}

function clean(table) {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined));
}

// "RK4(step=0.001)" -> ["RK4", "0.001"]; a record with other options stays whole.
function splitRecord(text, key) {
  const found = new RegExp(`^(\\w+)\\(${key}=(.*)\\)$`).exec(text);
  return found ? [found[1], found[2]] : [text];
}

