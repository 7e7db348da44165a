// The model that the page edits: the tables of a model file, with undo; kept in this tab, so that a reload brings it back.

import { linkageOf } from "./linkage.js";
import { withStart } from "./starts.js";

const KEY = "nlink-model";
const MOST = 200;
const TOGETHER = 900;

export function at(table, path) {
  return path.split(".").reduce((part, key) => (part === null || part === undefined ? undefined : part[key]), table);
}

// A copy of the table with one value changed; undefined takes it away.
export function put(table, path, value) {
  const [key, ...rest] = path.split("."), copy = Array.isArray(table) ? [...table] : { ...table };
  if (rest.length) copy[key] = put(copy[key] ?? {}, rest.join("."), value);
  else if (value === undefined) delete copy[key];
  else copy[key] = value;
  return copy;
}

export function linkCount(model) {
  return Array.isArray(model.links) ? model.links.length : Number(model.links) || 1;
}

export class Model {
  // changed(how): "field" (typed into a field), "pose" (dragged), "whole" (anything else)
  constructor(changed) {
    Object.assign(this, { changed, past: [], future: [], last: { path: "", time: 0 } });
    this.table = {};
  }

  // The linkage of the model, made once for each.
  get linkage() {
    const { table } = this, theta = table.start?.theta;
    if (this.linked !== table) Object.assign(this, { linked: table, made: linkageOf(table) });
    if (this.made.n === theta?.length) this.made.measure(theta);
    return this.made;
  }

  // What the tab had before a reload, or null.
  kept() {
    try {
      return JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      return null;
    }
  }

  load(table, { remember = true } = {}) {
    if (remember && this.table.links) this.remember("");
    this.become(table, "whole");
  }

  set(path, value, how = "field") {
    this.remember(how === "whole" ? "" : path);
    this.become(put(this.table, path, value), how);
  }

  // Another start, by hand: angles and rates, in space the pose and the angular velocities of the links.
  pose(theta, omega) {
    this.remember("start");
    this.become(this.table.space ? { ...this.table, start: { pose: theta, omega } } : withStart(this.table, { theta, omega }), "pose");
  }

  // Take over what the server made of the model (a start that closes), without a step of its own.
  settle(table) {
    this.become(table, "whole", true);
  }

  // Changes of one place in quick succession are one step.
  remember(path) {
    const now = performance.now(), same = path && path === this.last.path && now - this.last.time < TOGETHER;
    this.last = { path, time: now };
    if (same) return;
    this.past.push(this.table);
    if (this.past.length > MOST) this.past.shift();
    this.future = [];
  }

  undo() {
    this.step(this.past, this.future);
  }

  redo() {
    this.step(this.future, this.past);
  }

  step(from, to) {
    if (!from.length) return;
    to.push(this.table);
    this.last = { path: "", time: 0 };
    this.become(from.pop(), "whole");
  }

  become(table, how, quiet = false) {
    this.table = table;
    try {
      sessionStorage.setItem(KEY, JSON.stringify(table));
    } catch {
      // a tab without room forgets on reload, nothing worse
    }
    if (!quiet) this.changed(how);
  }

  // Another number of links: new ones are like the last, at its angle.
  resize(n) {
    const grown = (values, fill) => (Array.isArray(values) ? Array.from({ length: n }, (_, i) => values[i] ?? values[values.length - 1] ?? fill) : values);
    const { links, start, loads } = this.table;
    const table = { ...this.table, links: Array.isArray(links) ? grown(links) : n, start: Object.fromEntries(Object.entries(start).map(([key, values]) => [key, grown(values, 0)])), loads: {} };
    for (const [name, load] of Object.entries(loads)) {
      const fixed = name === "tip_force" || load?.times;
      table.loads[name] = fixed ? load : Array.isArray(load) ? grown(load) : typeof load === "object" ? Object.fromEntries(Object.entries(load).map(([key, value]) => [key, grown(value)])) : load;
    }
    this.remember("links");
    this.become(table, "whole");
  }

  // Links one by one, or all like the first.
  unlike(each) {
    const keys = ["shape", "length", "mass", "com", "offset", "inertia", "radius", "width", "depth", "joint", "spin"], { links, ...rest } = this.table;
    const row = Object.fromEntries(keys.filter((key) => key in rest).map((key) => [key, rest[key]]));
    for (const key of keys) delete rest[key];
    this.remember("");
    if (each) this.become({ ...rest, links: Array.from({ length: linkCount(this.table) }, () => ({ ...row })) }, "whole");
    else this.become({ ...rest, ...links[0], links: links.length }, "whole");
  }
}
