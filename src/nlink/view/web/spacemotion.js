// The motion of a chain in space at any time: cubic Hermite interpolation of directions and quaternions, scaled to 1.
//
// A line has three rows, its direction; a body four, its quaternion (w, x, y, z). x right, y up, z to the viewer.

import { Motion } from "./motion.js";

const MOST_MOMENTS = 3e6;
const LONGEST_PATH = 12000;

// A vector of a body's axes in space.
export function turned([w, x, y, z], [a, b, c]) {
  const p = 2 * (y * c - z * b), q = 2 * (z * a - x * c), r = 2 * (x * b - y * a);
  return [a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p];
}

export class SpaceMotion extends Motion {
  // chain: { n, length, com, mass, turns, ... }; rows, rates: of t.length values, three a line, four a body (chain.turns).
  constructor(chain, t, rows, rates) {
    super(chain, t, rows, rates);
    let size = 0;
    this.first = chain.turns.map((turns) => (size += turns ? 4 : 3) - (turns ? 4 : 3));
    this.pose = new Float64Array(size);
    this.change = new Float64Array(size);
    this.z = new Float64Array(this.n + 1);
  }

  // Put the moment t into pose, change, rates (of all directions together) and the hinges, the pivot first.
  at(t) {
    return this.interpolate(t, this.pose, this.change).place();
  }

  // Scale each link to 1, and put the hinges where the directions say.
  place() {
    const { n, pose, change, first, rates, x, y, z } = this, { turns, length } = this.chain;
    for (let i = 0; i < n; i++) {
      const from = first[i], to = from + (turns[i] ? 4 : 3);
      let size = 0, along = 0, speed = 0;
      for (let k = from; k < to; k++) size += pose[k] * pose[k];
      size = Math.sqrt(size) || 1;
      for (let k = from; k < to; k++) along += (pose[k] /= size) * change[k];
      for (let k = from; k < to; k++) speed += (change[k] -= along * pose[k]) ** 2;
      rates[i] = (turns[i] ? 2 : 1) * Math.sqrt(speed);
      const [ex, ey, ez] = turns[i] ? this.direction(i) : [pose[from], pose[from + 1], pose[from + 2]];
      x[i + 1] = x[i] + length[i] * ex;
      y[i + 1] = y[i] + length[i] * ey;
      z[i + 1] = z[i] + length[i] * ez;
    }
    return this;
  }

  quaternion(i) {
    return this.pose.subarray(this.first[i], this.first[i] + 4);
  }

  direction(i) {
    const { pose } = this, k = this.first[i];
    if (!this.chain.turns[i]) return [pose[k], pose[k + 1], pose[k + 2]];
    const [w, x, y, z] = [pose[k], pose[k + 1], pose[k + 2], pose[k + 3]];
    return [-2 * (x * y - w * z), 2 * (x * x + z * z) - 1, -2 * (y * z + w * x)];
  }

  // The angular velocity in world axes: e x e' of a line, 2 q' conj(q) of a body.
  turning(i) {
    const { change } = this, k = this.first[i];
    if (this.chain.turns[i]) {
      const [w, x, y, z] = this.quaternion(i), [a, b, c, d] = change.subarray(k, k + 4);
      return [2 * (-a * x + b * w - c * z + d * y), 2 * (-a * y + b * z + c * w - d * x), 2 * (-a * z - b * y + c * x + d * w)];
    }
    const [x, y, z] = this.direction(i), [a, b, c] = change.subarray(k, k + 3);
    return [y * c - z * b, z * a - x * c, x * b - y * a];
  }

  // From straight down, and about the vertical from x towards z (NaN for a link that hangs straight), in rad.
  inclination(i) {
    const [x, y, z] = this.direction(i);
    return Math.atan2(Math.hypot(x, z), -y);
  }

  azimuth(i) {
    const [x, , z] = this.direction(i);
    return this.inclination(i) < 1e-6 ? NaN : Math.atan2(z, x);
  }

  // The point of a link that lies so far along it.
  spot(i, along) {
    const e = this.direction(i);
    return [this.x[i] + along * e[0], this.y[i] + along * e[1], this.z[i] + along * e[2]];
  }

  // A point of a body in its axes, from its upper hinge.
  inBody(i, point) {
    const [x, y, z] = turned(this.quaternion(i), point);
    return [this.x[i] + x, this.y[i] + y, this.z[i] + z];
  }

  // The point that draws the trail: the one that is chosen, or the last end.
  traced() {
    return this.trace ? this.spot(this.trace[0], this.trace[1]) : [this.x[this.n], this.y[this.n], this.z[this.n]];
  }

  centre(i) {
    const com = this.chain.com[i];
    return this.chain.turns[i] ? this.inBody(i, com) : this.spot(i, -com[1]);
  }

  anchor() {
    return [0, 0, 0];
  }

  // The path of the traced point at equal intervals, and the upright cylinder about the pivot that the chain sweeps; made once.
  path() {
    if (this.swept) return this.swept;
    const points = this.span ? Math.max(2, Math.min(LONGEST_PATH, 8 * this.count, Math.floor(MOST_MOMENTS / this.n))) : 1;
    const [x, y, z] = ["x", "y", "z"].map(() => new Float32Array(points)), about = { x: 0, z: 0, radius: 0, low: 0, high: 0 };
    const wide = this.chain.solids.map((solid) => solid && solid.reach);
    for (let p = 0; p < points; p++) {
      this.at(points > 1 ? this.start + ((this.end - this.start) * p) / (points - 1) : this.start);
      [x[p], y[p], z[p]] = this.traced();
      for (let i = 1; i <= this.n; i++) widen(about, this.x[i], this.y[i], this.z[i], 0);
      for (let i = 0; i < this.n; i++) if (wide[i]) widen(about, ...this.inBody(i, this.chain.solids[i].centre), wide[i]);
    }
    const long = this.chain.length.reduce((sum, length) => sum + length, 0);
    about.radius = Math.max(about.radius, 0.25 * (about.high - about.low), 0.05 * long);
    this.swept = { x, y, z, points, about };
    return this.swept;
  }

  fastest() {
    if (this.peak === undefined) {
      const { n } = this;
      this.peak = 0;
      for (const t of this.t) for (let i = 0; i < n; i++) this.peak = Math.max(this.peak, this.at(t).rates[i]);
    }
    return this.peak;
  }

  // What a table of the motion has: names of columns, and their values now.
  columns() {
    const each = (name, unit) => Array.from({ length: this.n }, (_, i) => ["x", "y", "z"].map((axis) => `${name}_${i + 1}_${axis} [${unit}]`)).flat();
    return [...each("direction", "1"), ...each("omega", "rad/s")];
  }

  values() {
    const links = [...Array(this.n).keys()];
    return [...links.flatMap((i) => this.direction(i)), ...links.flatMap((i) => this.turning(i))];
  }
}

function widen(about, x, y, z, air) {
  about.radius = Math.max(about.radius, Math.hypot(x, z) + air);
  about.low = Math.min(about.low, y - air);
  about.high = Math.max(about.high, y + air);
}
