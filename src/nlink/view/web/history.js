// The last part of a motion that goes on: points at equal intervals, as the stage and the plots of a finished run take them.

import { Motion } from "./motion.js";

const TO_DEGREES = 180 / Math.PI;
const ENERGIES = ["kinetic", "potential", "total", "work"];

export class History extends Motion {
  // chain: { n, length, ... }, whose numbers may change; `most` points are kept at least, twice as many at most.
  constructor(chain, most) {
    const row = () => new Float64Array(2 * most), rows = () => Array.from({ length: chain.n }, row);
    super(chain, row(), rows(), rows());
    Object.assign(this, { most, tip: { x: row(), y: row() } }, Object.fromEntries(ENERGIES.map((name) => [name, row()])));
    this.clear();
  }

  clear() {
    Object.assign(this, { count: 0, start: 0, end: 0, span: 0, sign: 1, fast: new Float64Array(this.n), far: new Float64Array(this.n) });
  }

  // Take the state y as the one that is shown.
  show(t, y) {
    const { n, angles, rates } = this;
    for (let i = 0; i < n; i++) {
      angles[i] = y[i];
      rates[i] = y[n + i];
    }
    return this.place();
  }

  // The moment that is shown is all that there is.
  at() {
    return this;
  }

  // Append a point, which is shown then.
  record(t, y, energy) {
    if (this.count === this.t.length) this.forget();
    const k = this.count++, { n, tip, fast, far } = this;
    this.show(t, y);
    this.t[k] = t;
    for (let i = 0; i < n; i++) {
      this.theta[i][k] = y[i];
      this.omega[i][k] = y[n + i];
      fast[i] = Math.max(fast[i], Math.abs(y[n + i]));
      far[i] = Math.max(far[i], Math.abs(y[i]));
    }
    [tip.x[k], tip.y[k]] = this.traced();
    for (const name of ENERGIES) this[name][k] = energy[name];
    Object.assign(this, { start: this.t[0], end: t, span: t - this.t[0] });
  }

  // Drop the older half.
  forget() {
    const { most, tip } = this;
    for (const row of [this.t, ...this.theta, ...this.omega, tip.x, tip.y, ...ENERGIES.map((name) => this[name])]) row.copyWithin(0, most);
    this.count = most;
  }

  // The points since a time: their times, angles in degrees, rates and energies.
  since(t) {
    let first = this.count - 1;
    while (first > 0 && this.t[first - 1] >= t) first--;
    const part = (row) => row.subarray(Math.max(0, first), this.count);
    return { t: part(this.t), degrees: (i) => part(this.theta[i]).map((angle) => angle * TO_DEGREES), rates: (i) => part(this.omega[i]), energy: (name) => part(this[name]) };
  }

  // The path of the tip, and the box of all that the chain can reach.
  path() {
    const reach = this.chain.length.reduce((sum, one) => sum + one, 0);
    return { ...this.tip, points: this.count, box: [-reach, -reach, reach, reach] };
  }

  fastest() {
    return Math.max(...this.fast);
  }
}
