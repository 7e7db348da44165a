// The form of a chain in space: its links with their shapes and joints, and how they start.

import { KINDS, choice, errorNote, field, grid, toggled } from "./fields.js";
import { between, times } from "./spaceposer.js";
import { linkCount } from "./model.js";
import { turned } from "/web/spacemotion.js";
import { el } from "/web/dom.js";

const MANY = 24;
const SIZES = { rod: [], point: [], cylinder: ["radius"], box: ["width", "depth"] };
const SHAPES = [["rod", "rod"], ["point", "point mass"], ["cylinder", "cylinder"], ["box", "box"], ["own", "own"]];
const FIRST = { radius: 0.1, width: 0.2, depth: 0.1 };
const JOINTS = { ball: undefined, "hinge x": { hinge: [1, 0, 0] }, "hinge y": { hinge: [0, 1, 0] }, "hinge z": { hinge: [0, 0, 1] }, "universal x z": { universal: [[1, 0, 0], [0, 0, 1]] }, "universal z x": { universal: [[0, 0, 1], [1, 0, 0]] } };
const POSES = [["", "as posed"], ["hanging", "hanging"], ["zigzag", "zig-zag"], ["line45", "in line, 45\u00b0"], ["line90", "in line, 90\u00b0"], ["spiral", "spiral"], ["cone", "steady turning"]];
const TURNING = 4;
const OWN = ["shape", "com", "inertia", "offset", ...Object.keys(FIRST)];

// The direction of an entry of a pose: of a line itself, of a body where its quaternion turns straight down.
function directionOf(entry) {
  return entry.length === 4 ? turned(entry, [0, -1, 0]) : entry;
}

function inclinationOf(entry) {
  const [x, y, z] = directionOf(entry);
  return Math.atan2(Math.hypot(x, z), -y);
}

function azimuthOf(entry) {
  const [x, , z] = directionOf(entry);
  return Math.hypot(x, z) < 1e-9 ? 0 : Math.atan2(z, x);
}

// The entry turned to another inclination and azimuth; a body turns with its length, by the shortest way.
function pointed(entry, inclination, azimuth) {
  const s = Math.sin(inclination), to = [s * Math.cos(azimuth), -Math.cos(inclination), s * Math.sin(azimuth)];
  return entry.length === 4 ? times(between(directionOf(entry), to), entry) : to;
}

// Fields in degrees that show a part of an entry of a pose.
const shownAs = (part) => ({ read: KINDS.degrees.read, show: (entry) => KINDS.degrees.show(Array.isArray(entry) ? part(entry) : entry) });
const INCLINATION = shownAs(inclinationOf), AZIMUTH = shownAs(azimuthOf);

export class SpaceForm {
  constructor(editor) {
    this.editor = editor;
  }

  get table() {
    return this.editor.table;
  }

  get model() {
    return this.editor.model;
  }

  // A chain of the plane becomes one in space, or back; what only one of them has is left out.
  toggle() {
    const { table, model } = this, on = Boolean(table.space);
    const into = () => model.load({ ...table, space: true, loads: known(table.loads), start: { theta: table.start.theta ?? 0, omega: table.start.omega ?? 0 }, run: chosen(table.run) });
    const back = () => { const { space, ...rest } = flat(table); model.load({ ...rest, start: "zigzag" }); };
    return toggled("In space", on, (now) => (now ? into() : back()), "space");
  }

  chain() {
    const { editor, table, model } = this, each = Array.isArray(table.links), n = linkCount(table);
    const count = field("Links", { path: "links", value: each ? n : table.links, slider: [1, 20, 1], changed: (value) => (Number.isInteger(value) && value >= 1 && value <= 200 ? model.resize(value) : model.set("links", value)) });
    const alike = n > 1 ? [toggled("All links alike", !each, (on) => model.unlike(!on), "alike")] : [];
    return [editor.field("Title", "title", { kind: "text", wide: true }), this.toggle(), count, ...alike, ...(each ? [this.links()] : this.equal())];
  }

  shapeOf(row) {
    return row.shape in SIZES && !("com" in row || "inertia" in row) ? row.shape : row.shape || "com" in row ? "own" : "rod";
  }

  // The row with another shape.
  shaped(row, shape) {
    const { length = 1, mass = 1, joint, spin, ...others } = row, rest = Object.fromEntries(Object.entries(others).filter(([key]) => !OWN.includes(key)));
    const sizes = Object.fromEntries((SIZES[shape] ?? []).map((key) => [key, row[key] ?? FIRST[key]])), line = shape === "rod" || shape === "point";
    const own = shape === "own" ? { shape: "body", com: [0, -length / 2, 0], inertia: [mass * length ** 2 / 12, mass * length ** 2 / 100, mass * length ** 2 / 12] } : { shape };
    return { ...rest, length, mass, ...own, ...sizes, ...(joint ? { joint } : {}), ...(spin && line ? { spin } : {}) };
  }

  // Equal lines; bodies stand in rows of their own, as each may have its joint.
  equal() {
    const { editor, table, model } = this, n = linkCount(table);
    const changed = (shape) => {
      const row = this.shaped(Object.fromEntries(["length", "mass", "shape", "com", "inertia", "radius", "width", "depth", "spin"].filter((key) => key in table).map((key) => [key, table[key]])), shape);
      const { length, mass, shape: before, com, inertia, spin, ...rest } = table;
      if (shape === "rod" || shape === "point") model.load({ ...rest, ...row });
      else model.load({ ...rest, links: Array.from({ length: n }, () => ({ ...row })), start: "hanging" });
    };
    return [choice("Shape", { path: "shape", options: SHAPES, value: this.shapeOf(table), changed }), editor.field("Length", "length", { unit: "m", slider: [0.05, 3, 0.05] }), editor.field("Mass", "mass", { unit: "kg", slider: [0, 10, 0.05] })];
  }

  // Each link: its shape and measures, below them its sides, its joint and the spin of a rotor in a line.
  links() {
    const { editor, table, model } = this, heads = ["", "shape", "length m", "mass kg"];
    const replace = (i, row) => model.load({ ...table, links: table.links.map((each, k) => (k === i ? row : each)), start: this.begun(i, table.links[i], row) });
    const body = table.links.flatMap((row, i) => {
      const name = `link ${i + 1}`, path = `links.${i}`, shape = this.shapeOf(row), line = ["rod", "point"].includes(shape) && !row.joint;
      const shapes = choice(`Shape of ${name}`, { path: `${path}.shape`, options: SHAPES, value: shape, changed: (value) => replace(i, this.shaped(row, value)) }).querySelector("select");
      const cell = (label, key, options) => editor.cell(`${label} of ${name}`, `${path}.${key}`, options);
      const sides = ["radius", "width", "depth"].filter((key) => key in row).flatMap((key) => [key, cell(key, key, { narrow: true })]);
      const spin = line ? ["spin", cell("Spin", "spin", { narrow: true, hint: "angular momentum of a rotor along it, in kg m\u00b2/s", placeholder: "0", changed: (value) => model.set(`${path}.spin`, value === "" ? undefined : value) })] : [];
      return [el("tr", {}, el("th", { scope: "row" }, String(i + 1)), el("td", {}, shapes), el("td", {}, cell("length", "length")), el("td", {}, cell("mass", "mass"))),
        el("tr", { class: "more" }, el("td"), el("td", { colspan: heads.length - 1 }, el("div", {}, "joint", this.joint(i, row, replace), ...sides, ...spin), errorNote()))];
    });
    return grid(heads, body);
  }

  joint(i, row, replace) {
    const key = ({ joint = "ball" }) => JSON.stringify(joint === "ball" ? undefined : joint), { joint: old, ...rest } = row, now = Object.keys(JOINTS).find((name) => key({ joint: JOINTS[name] }) === key(row)) ?? "as in the file";
    const names = [...Object.keys(JOINTS), ...(now in JOINTS ? [] : [now])];
    const changed = (value) => { if (value in JOINTS) replace(i, JOINTS[value] ? { ...rest, joint: JOINTS[value] } : rest); };
    return choice(`Joint of link ${i + 1}`, { path: `links.${i}.joint`, options: names.map((name) => [name, name]), value: now, changed }).querySelector("select");
  }

  // The start once a link has another kind of coordinates: that link hangs, the others stay.
  begun(i, before, after) {
    const { start } = this.table, kind = (row) => JSON.stringify([row.joint ?? "ball", ["rod", "point"].includes(row.shape ?? "rod") && !row.joint]);
    if (kind(before) === kind(after) || !Array.isArray(start.pose)) return start;
    const joint = after.joint ?? "ball", entry = joint.hinge ? 0 : joint.universal ? [0, 0] : [0, -1, 0], rate = joint.hinge ? 0 : joint.universal ? [0, 0] : [0, 0, 0];
    const put = (values, value) => values.map((each, k) => (k === i ? value : each));
    return { pose: put(start.pose, entry), omega: put(start.omega, rate) };
  }

  start() {
    const { table, model } = this, n = linkCount(table), { pose } = table.start ?? {};
    const changed = (value) => { if (value) model.load({ ...table, start: value.startsWith("line") ? { shape: "line", angle: Number(value.slice(4)), unit: "deg" } : value === "cone" ? { shape: "cone", rate: TURNING } : value }); };
    const poses = choice("Pose", { path: "start.shape", options: POSES, value: "", changed });
    if (!Array.isArray(pose)) return [poses];
    const shown = Math.min(n, MANY), errors = el("div", { class: "row wide" }, el("input", { type: "hidden", "data-path": "start" }), errorNote());
    const rows = Array.from({ length: shown }, (_, i) => [el("tr", {}, el("th", { scope: "row" }, String(i + 1)), ...this.entry(i, pose[i]), el("td", { class: "long" }, this.rates(i))), el("tr", { class: "below" }, el("td", { colspan: 4 }, errorNote()))]).flat();
    return [poses, errors, el("p", { class: "hint" }, "Drag a link, also while it moves, or type. Rates are x, y, z in the axes of space, of a hinge about it:"), grid(["", "inclination \u00b0", "azimuth \u00b0", "rates \u00b0/s"], rows),
      ...(n > shown ? [el("p", { class: "hint" }, `and ${n - shown} more links`)] : [])];
  }

  // Two cells for a link: its inclination and azimuth, or the angles of its joint.
  entry(i, pose) {
    const { editor, model } = this, path = `start.pose.${i}`, cell = (label, at, options) => el("td", {}, editor.cell(`${label} of link ${i + 1} in degrees`, at, { narrow: true, ...options }));
    if (!Array.isArray(pose)) return [cell("Angle", path, { kind: "degrees" }), el("td", {}, "\u2013")];
    if (pose.length === 2) return [cell("First angle", `${path}.0`, { kind: "degrees" }), cell("Second angle", `${path}.1`, { kind: "degrees" })];
    const set = (inclination, azimuth) => model.set(path, pointed(this.table.start.pose[i], inclination ?? inclinationOf(this.table.start.pose[i]), azimuth ?? azimuthOf(this.table.start.pose[i])));
    return [cell("Inclination", path, { kind: INCLINATION, changed: (value) => (Number.isFinite(value) ? set(value, null) : model.set(path, value)) }), cell("Azimuth", path, { kind: AZIMUTH, changed: (value) => (Number.isFinite(value) ? set(null, value) : model.set(path, value)) })];
  }

  rates(i) {
    return this.editor.cell(`Rates of link ${i + 1} in degrees per second`, `start.omega.${i}`, { kind: "eachInDegrees", narrow: true });
  }
}

// The loads that chains in space take as they are; a spring has no angle of rest there.
function known(loads = {}) {
  const { joint_spring: spring, joint_torque: torque, ...rest } = loads;
  return { ...rest, ...(spring ? { joint_spring: spring.stiffness ?? spring } : {}) };
}

function chosen(run = {}) {
  const { integrator, formulation, ...rest } = run;
  return rest;
}

// The table of a chain in the plane with the lengths and masses of one in space.
function flat({ links, start, loads = {}, run, radius, width, depth, spin, joint, ...rest }) {
  const { joint_torsion: torsion, joint_torque: torque, tip_force: tip, ...others } = loads;
  const rows = Array.isArray(links) ? links.map(({ length = 1, mass = 1, shape }) => ({ length, mass, shape: shape === "point" ? "point" : "rod" })) : links;
  return { ...rest, links: rows, loads: { ...others, ...(tip ? { tip_force: { fx: tip.fx ?? 0, fy: tip.fy ?? 0 } } : {}) }, run: chosen(run) };
}
