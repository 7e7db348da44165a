// Points of a motion as they come from the server, and the take that a player shows of them.

import { named } from "./live.js";

const KEYS = ["t", "theta", "omega", "kinetic", "potential", "total", "residual"];

export class Series {
  // window: s of the motion that are kept; the whole of it if not given
  constructor(window = Infinity) {
    Object.assign(this, { window, largest: 0, ...Object.fromEntries(KEYS.map((key) => [key, []])) });
  }

  get count() {
    return this.t.length;
  }

  get last() {
    return this.t[this.t.length - 1];
  }

  add(message) {
    for (const key of KEYS) for (const value of message[key]) this[key].push(value);
    this.largest = message.residual.reduce((most, value) => Math.max(most, Math.abs(value)), this.largest);
    if (this.last - this.t[0] < 1.1 * this.window) return;
    const old = this.t.findIndex((t) => t >= this.last - this.window);
    for (const key of KEYS) this[key].splice(0, old);
  }

  // rate: how much motion is shown in a second
  take(chain, rate) {
    const { count } = this, t = Float64Array.from(this.t), energy = { t, work: {} };
    for (const key of ["kinetic", "potential", "total"]) energy[key] = Float64Array.from(this[key]);
    const rows = (values) => {
      const each = values[0]?.length ?? 0, out = new Float64Array(each * count);
      for (let k = 0; k < count; k++) for (let i = 0; i < each; i++) out[i * count + k] = values[k][i];
      return out;
    };
    return { name: "", summary: "being computed", rate, status: "", words: [], chain, t, ...named(chain, rows(this.theta), rows(this.omega)), energy, events: [], trusted: null, step: Math.abs(t[1] - t[0]) };
  }
}
