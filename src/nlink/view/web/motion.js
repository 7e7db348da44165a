// The motion of a chain at any time: cubic Hermite interpolation of angles and rates, and where hinges and masses are.
//
// theta is the absolute angle from straight down, counter-clockwise: a link points along (sin theta, -cos theta).

import { intervalAt } from "./axes.js";

const MOST_EVALUATIONS = 3e6;
const MOST_POINTS = 12000;

export class Motion {
  // chain: { n, length, com, offset, mass, point, pin, ... }; theta, omega: n rows of t.length values.
  constructor(chain, t, theta, omega) {
    Object.assign(this, { chain, t, theta, omega, n: chain.n, count: t.length });
    this.start = t[0];
    this.end = t[t.length - 1];
    this.sign = this.end < this.start ? -1 : 1;
    this.span = Math.abs(this.end - this.start);
    this.angles = new Float64Array(this.n);
    this.rates = new Float64Array(this.n);
    this.x = new Float64Array(this.n + 1);
    this.y = new Float64Array(this.n + 1);
  }

  // Put the moment t into angles, rates, x and y (hinges: the pivot first).
  at(t) {
    const { n, count, theta, omega, angles, rates } = this;
    const k = intervalAt(this.t, t), h = count > 1 ? this.t[k + 1] - this.t[k] : 0;
    const s = h ? Math.min(1, Math.max(0, (t - this.t[k]) / h)) : 0;
    for (let i = 0, j = k; i < n; i++, j += count) {
      if (!h) {
        angles[i] = theta[j];
        rates[i] = omega[j];
        continue;
      }
      const a = theta[j], v = h * omega[j], rise = theta[j + 1] - a;
      const bend = 3 * rise - 2 * v - h * omega[j + 1], twist = v + h * omega[j + 1] - 2 * rise;
      angles[i] = a + s * (v + s * (bend + s * twist));
      rates[i] = (v + s * (2 * bend + 3 * s * twist)) / h;
    }
    return this.place();
  }

  // Put the hinges where the angles say.
  place() {
    const { n, angles, x, y } = this, { length } = this.chain;
    for (let i = 0; i < n; i++) {
      x[i + 1] = x[i] + length[i] * Math.sin(angles[i]);
      y[i + 1] = y[i] - length[i] * Math.cos(angles[i]);
    }
    return this;
  }

  // The point that draws the trail: the last end, or the middle of a closed chain.
  traced() {
    const { n, x, y } = this;
    if (!this.chain.pin) return [x[n], y[n]];
    const a = n >> 1, b = (n + 1) >> 1;
    return [(x[a] + x[b]) / 2, (y[a] + y[b]) / 2];
  }

  centre(i) {
    const { com, offset } = this.chain, s = Math.sin(this.angles[i]), c = Math.cos(this.angles[i]);
    return [this.x[i] + com[i] * s + offset[i] * c, this.y[i] - com[i] * c + offset[i] * s];
  }

  // The path of the traced point at equal intervals, and the box that the chain sweeps; made once.
  path() {
    if (this.swept) return this.swept;
    const points = this.span ? Math.max(2, Math.min(MOST_POINTS, 8 * this.count, Math.floor(MOST_EVALUATIONS / this.n))) : 1;
    const x = new Float32Array(points), y = new Float32Array(points);
    const box = [0, 0, 0, 0];
    const widen = (px, py) => {
      box[0] = Math.min(box[0], px);
      box[1] = Math.min(box[1], py);
      box[2] = Math.max(box[2], px);
      box[3] = Math.max(box[3], py);
    };
    for (let p = 0; p < points; p++) {
      this.at(points > 1 ? this.start + ((this.end - this.start) * p) / (points - 1) : this.start);
      [x[p], y[p]] = this.traced();
      for (let i = 1; i <= this.n; i++) widen(this.x[i], this.y[i]);
      for (let i = 0; i < this.n; i++) if (this.chain.offset[i]) widen(...this.centre(i));
    }
    if (this.chain.pin) widen(...this.chain.pin);
    this.swept = { x, y, points, box };
    return this.swept;
  }

  // The largest rate of any link, for colours.
  fastest() {
    if (this.peak === undefined) this.peak = this.omega.reduce((most, rate) => Math.max(most, Math.abs(rate)), 0);
    return this.peak;
  }
}
