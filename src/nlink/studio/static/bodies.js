// The form of a mechanism: its bodies with their joints, what drives them, what closes loops, springs between points.

import { choice, errorNote, field, grid, toggled } from "./fields.js";
import { without, withoutClosure, withoutSpring } from "./building.js";
import { button, el, select } from "/web/dom.js";

const SHAPES = [["rod", "rod"], ["point", "point mass"], ["own", "own"]];
const SINE = { amplitude: 0.1, frequency: 1, phase: 0, offset: 0 };
const MASSES = { com: "centre", offset: "left", inertia: "inertia" };
const RAMP = { start: 0, rate: 1 };

export function isMechanism({ links, pins, floating }) {
  return Boolean(pins || floating || (Array.isArray(links) && links.some((row) => "kind" in row || "parent" in row || "at" in row || "motion" in row)));
}

export function nameOf(row, i) {
  return `${row?.kind === "slider" ? "slider" : "link"} ${i + 1}`;
}

// editor: has model, table, field and shape
export class Bodies {
  constructor(editor) {
    this.editor = editor;
  }

  get table() {
    return this.editor.table;
  }

  rows() {
    return [this.bodies(), ...this.drives(), ...this.closures()];
  }

  cell(label, path, options) {
    return el("td", {}, this.editor.cell(label, path, { narrow: true, ...options }));
  }

  // Each body: its shape and joint, what it hangs on, and below them where its mass is if no shape says it.
  bodies() {
    const { links } = this.table, heads = ["", "shape", "length m", "mass kg", ""];
    const below = (...parts) => el("tr", { class: "more" }, el("td"), el("td", { colspan: heads.length - 1 }, ...parts));
    const rows = links.flatMap((row, i) => {
      const slides = row.kind === "slider", name = nameOf(row, i), path = `links.${i}`, on = row.parent ?? i - 1, masses = ["com", "offset", "inertia"].filter((key) => key in row);
      const shape = slides ? el("td", { class: "rail" }, "slider ", this.editor.cell(`Direction of ${name} in degrees`, `${path}.direction`, { kind: "degrees" }), "\u00b0") : el("td", {}, this.shape(path, name));
      const parents = [[-1, "ground"], ...links.slice(0, i).map((each, k) => [k, nameOf(each, k)])];
      const place = this.editor.cell(`Place of ${name} on what it hangs on`, `${path}.at`, { kind: "each", hint: on < 0 ? "x, y in m" : "along, left in m; empty: its tip", placeholder: on < 0 ? "0, 0" : "its tip" });
      const away = el("td", {}, button(`Delete ${name}`, "close", () => this.change(() => without(this.table, i)), { class: "quiet" }));
      return [el("tr", {}, el("th", { scope: "row" }, String(i + 1)), shape, slides ? el("td", {}, "\u2013") : this.cell(`length of ${name}`, `${path}.length`), this.cell(`mass of ${name}`, `${path}.mass`), away),
        below(el("div", {}, "on", select(`What ${name} hangs on`, parents, on, (value) => this.hang(i, Number(value))), "at", place, "m"),
          ...(masses.length ? [el("div", {}, ...masses.flatMap((key) => [MASSES[key], this.editor.cell(`${key} of ${name}`, `${path}.${key}`, { narrow: true })]))] : []), errorNote())];
    });
    return grid(heads, rows);
  }

  shape(path, name) {
    const { value, changed } = this.editor.shape(this.table.links[Number(path.split(".")[1])], path);
    return choice(`Shape of ${name}`, { path: `${path}.shape`, options: SHAPES, value, changed }).querySelector("select");
  }

  // Another parent: at its tip, or at the origin of the ground.
  hang(i, parent) {
    const links = this.table.links.map((row, k) => (k === i ? { ...row, parent, at: parent < 0 ? [0, 0] : undefined } : row)).map(({ at, ...row }) => (at === undefined ? row : { ...row, at }));
    this.editor.model.load({ ...this.table, links });
  }

  change(made) {
    try {
      this.editor.model.load(made());
    } catch (error) {
      this.editor.refused(error.message);
    }
  }

  // Bodies with a prescribed motion, and a choice for one more.
  drives() {
    const { links } = this.table, { model } = this.editor, free = links.map((row, i) => [i, nameOf(row, i)]).filter(([i]) => !links[i].motion);
    const drives = links.flatMap((row, i) => {
      if (!row.motion) return [];
      const slides = row.kind === "slider", path = `links.${i}.motion`, name = nameOf(row, i), [unit, kind] = slides ? ["m", "number"] : ["\u00b0", "degrees"];
      const sine = "amplitude" in row.motion, ramp = "rate" in row.motion && !sine;
      const kinds = choice(`Motion of ${name}`, { path: `${path}.kind`, options: [["ramp", "steady"], ["sine", "sine in time"], ...(sine || ramp ? [] : [["file", "as in the file"]])], value: sine ? "sine" : ramp ? "ramp" : "file", changed: (now) => { if (now !== "file") model.set(path, now === "sine" ? { ...SINE } : { ...RAMP, start: this.table.start.theta[i] }, "whole"); } });
      const fields = sine ? [["Amplitude", "amplitude", unit, kind], ["Frequency", "frequency", "Hz", "number"], ["Phase", "phase", "\u00b0", "degrees"], ["Offset", "offset", unit, kind]] : ramp ? [["Start", "start", unit, kind], ["Rate", "rate", `${unit}/s`, kind]] : [];
      return [toggled(`Drive of ${name}`, true, () => model.set(path, undefined, "whole"), path, kinds, ...fields.map(([label, key, u, k]) => this.editor.field(label, `${path}.${key}`, { unit: u, kind: k })), errorNote())];
    });
    const more = select("Drive a body", [["", "Drive a body\u2026"], ...free], "", (i) => { if (i !== "") model.set(`links.${i}.motion`, { ...RAMP, start: this.table.start.theta[i] }, "whole"); });
    return free.length ? [...drives, more] : drives;
  }

  closures() {
    const { pins = [], links } = this.table, rows = pins.map((closure, k) => {
      const path = `pins.${k}`, ends = ["a", "b", "point", "through"].filter((key) => closure[key]), grounds = ends.filter((key) => closure[key].link === undefined);
      const of = (end) => (end.link === undefined ? "the ground" : nameOf(links[end.link], end.link));
      const text = closure.kind === "gear" ? `gear: ${nameOf(links[closure.i], closure.i)} with ${nameOf(links[closure.j], closure.j)}` : `${closure.kind ?? "pin"}: ${ends.map((key) => of(closure[key])).join(" \u2013 ")}`;
      const fields = grounds.flatMap((key) => (Array.isArray(closure[key]) ? ["0", "1"] : ["x", "y"]).map((at, i) => this.editor.field("xy"[i], `${path}.${key}.${at}`, { unit: "m", slider: [-5, 5, 0.05] })));
      if (closure.kind === "guide") fields.push(this.editor.field("Direction", `${path}.direction`, { unit: "\u00b0", kind: "degrees" }));
      if (closure.kind === "distance") fields.push(this.editor.field("Length", `${path}.length`, { unit: "m" }));
      if (closure.kind === "gear") fields.push(this.editor.field("Ratio", `${path}.ratio`));
      return toggled(`${k + 1}. ${text}`, true, () => this.change(() => withoutClosure(this.table, k)), path, ...fields, errorNote());
    });
    return rows;
  }

  springs() {
    const springs = this.table.loads?.point_spring ?? [], each = Array.isArray(springs) ? springs : [springs];
    return each.map((spring, k) => {
      const path = Array.isArray(springs) ? `loads.point_spring.${k}` : "loads.point_spring";
      const fields = [["Stiffness", "stiffness", "N/m"], ["Length", "length", "m"], ["Damping", "damping", "N s/m"]].map(([label, key, unit]) => this.editor.field(label, `${path}.${key}`, { unit }));
      return toggled(`Spring ${k + 1} between points`, true, () => this.change(() => withoutSpring(this.table, k)), path, ...fields, errorNote());
    });
  }
}
