// The motion of a model at any time: cubic Hermite interpolation of angles and rates, and where its points and masses are.
//
// theta is the absolute angle from straight down, counter-clockwise: a link points along (sin theta, -cos theta). Of a slider it is
// the displacement in m. A place on a body is (body, along, left); the ground is body -1.

import { intervalAt } from "./axes.js";

const MOST_EVALUATIONS = 3e6;
const MOST_POINTS = 12000;

export class Motion {
  // chain: { n, length, com, offset, mass, point, pin, ... }, of a mechanism with an outline; theta, omega: n rows of t.length values.
  constructor(chain, t, theta, omega) {
    Object.assign(this, { chain, t, theta, omega, n: chain.n, count: t.length });
    this.start = t[0];
    this.end = t[t.length - 1];
    this.sign = this.end < this.start ? -1 : 1;
    this.span = Math.abs(this.end - this.start);
    this.angles = new Float64Array(this.n);
    this.rates = new Float64Array(this.n);
    const points = chain.outline ? chain.outline.points.length : this.n + 1;
    this.x = new Float64Array(points);
    this.y = new Float64Array(points);
    // Origins and angles of the bodies.
    Object.assign(this, { ox: this.x, oy: this.y, turned: this.angles, trace: chain.trace });
    if (chain.outline) for (const name of ["ox", "oy", "turned"]) this[name] = new Float64Array(this.n);
  }

  slides(i) {
    return Boolean(this.chain.outline?.slides[i]);
  }

  nameOf(i) {
    return `${this.slides(i) ? "slider" : "link"} ${i + 1}`;
  }

  // Put the moment t into angles, rates, x and y (of a chain the hinges: the pivot first).
  at(t) {
    return this.interpolate(t, this.angles, this.rates).place();
  }

  interpolate(t, angles, rates) {
    const { count, theta, omega } = this;
    const k = intervalAt(this.t, t), h = count > 1 ? this.t[k + 1] - this.t[k] : 0;
    const s = h ? Math.min(1, Math.max(0, (t - this.t[k]) / h)) : 0;
    for (let i = 0, j = k; i < angles.length; i++, j += count) {
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
    return this;
  }

  // Put the hinges where the angles say.
  place() {
    const { n, angles, x, y } = this, { length, outline } = this.chain;
    if (outline) return this.placeTree(outline);
    for (let i = 0; i < n; i++) {
      x[i + 1] = x[i] + length[i] * Math.sin(angles[i]);
      y[i + 1] = y[i] - length[i] * Math.cos(angles[i]);
    }
    return this;
  }

  placeTree({ parent, slides, levers, ways, points }) {
    const { n, angles, x, y, ox, oy, turned } = this;
    for (let i = 0; i < n; i++) {
      const k = parent[i], s = slides[i] ? angles[i] : 0;
      [ox[i], oy[i]] = this.spot(k, levers[i][0] + s * ways[i][0], levers[i][1] + s * ways[i][1]);
      turned[i] = slides[i] ? (k < 0 ? 0 : turned[k]) : angles[i];
    }
    points.forEach((place, p) => { [x[p], y[p]] = this.spot(...place); });
    return this;
  }

  // Where a place on a body or on the ground is.
  spot(body, along, left) {
    if (body < 0) return [left, -along];
    const s = Math.sin(this.turned[body]), c = Math.cos(this.turned[body]);
    return [this.ox[body] + along * s + left * c, this.oy[body] - along * c + left * s];
  }

  // The point that draws the trail: the one that is chosen, the last end, or the middle of a closed chain.
  traced() {
    const { n, x, y } = this;
    if (this.trace) return this.spot(...this.trace);
    if (!this.chain.pin) return [x[n], y[n]];
    const a = n >> 1, b = (n + 1) >> 1;
    return [(x[a] + x[b]) / 2, (y[a] + y[b]) / 2];
  }

  centre(i) {
    return this.spot(i, this.chain.com[i], this.chain.offset[i]);
  }

  // What the picture follows: the centre of mass, or the origin.
  anchor() {
    if (!this.chain.outline?.follows) return [0, 0];
    const { mass } = this.chain, total = mass.reduce((sum, each) => sum + each, 0);
    return [0, 1].map((k) => mass.reduce((sum, each, i) => sum + each * this.centre(i)[k], 0) / total);
  }

  // The path of the traced point at equal intervals, and the box that the model sweeps about the anchor; made once.
  path() {
    if (this.swept) return this.swept;
    const points = this.span ? Math.max(2, Math.min(MOST_POINTS, 8 * this.count, Math.floor(MOST_EVALUATIONS / this.n))) : 1;
    const x = new Float32Array(points), y = new Float32Array(points);
    const { outline } = this.chain, box = outline ? [Infinity, Infinity, -Infinity, -Infinity] : [0, 0, 0, 0];
    let ax = 0, ay = 0;
    const widen = (px, py) => {
      box[0] = Math.min(box[0], px - ax);
      box[1] = Math.min(box[1], py - ay);
      box[2] = Math.max(box[2], px - ax);
      box[3] = Math.max(box[3], py - ay);
    };
    for (let p = 0; p < points; p++) {
      this.at(points > 1 ? this.start + ((this.end - this.start) * p) / (points - 1) : this.start);
      [x[p], y[p]] = this.traced();
      if (outline) [ax, ay] = this.anchor();
      for (let i = outline ? 0 : 1; i < this.x.length; i++) widen(this.x[i], this.y[i]);
      for (let i = 0; i < this.n; i++) if (this.chain.offset[i]) widen(...this.centre(i));
    }
    for (const ground of outline ? outline.grounds : this.chain.pin ? [this.chain.pin] : []) widen(...ground);
    this.swept = { x, y, points, box };
    return this.swept;
  }

  // The largest rate of any link, for colours.
  fastest() {
    if (this.peak === undefined) this.peak = this.omega.reduce((most, rate) => Math.max(most, Math.abs(rate)), 0);
    return this.peak;
  }

  // What a table of the motion has: names of columns, and their values now.
  columns() {
    const each = (name, unit) => Array.from({ length: this.n }, (_, i) => `${name}_${i + 1} [${unit}]`);
    return [...each("theta", "rad"), ...each("omega", "rad/s")];
  }

  values() {
    return [...this.angles, ...this.rates];
  }
}
