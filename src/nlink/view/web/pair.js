// A Runge-Kutta pair with adaptive steps and dense output, of the tableau that the package has: see integrators/runge_kutta.py.
//
// The error of a step is the root mean square of e_i / (tolerance (1 + |y_i|)) over the angles and rates, an angle counting as 1 rad
// at most. Numbers behind these, as the work of loads, are integrated along and do not steer the steps.

const LEAST_STEP = 1e-14;
const FIRST_STEP = 1e-3;

export class Pair {
  // rates(t, y, out) fills the rates of `size` numbers; the first n are angles, the next n their rates.
  constructor(tableau, rates, n, size) {
    Object.assign(this, { tableau, rates, n, size, h: FIRST_STEP });
    this.stages = Array.from({ length: tableau.rows.length }, () => new Float64Array(size));
    [this.y, this.before, this.point] = Array.from({ length: 3 }, () => new Float64Array(size));
  }

  start(t, y) {
    this.y.set(y);
    this.before.set(y);
    Object.assign(this, { t, from: t, taken: 0, failed: false, accepted: false, extra: false });
    this.rates(t, this.y, this.stages[0]);
  }

  // Attempt a step, not beyond `bound`. Its error decides whether it is taken, and how long the next one is.
  step(bound = Infinity) {
    const { tableau, stages, point } = this, last = tableau.stages;
    if (this.accepted) {
      stages[0].set(stages[last]);
      this.before.set(this.y);
      Object.assign(this, { from: this.t, accepted: false, extra: false });
    }
    const proposed = this.h, short = this.from + proposed >= bound, h = short ? bound - this.from : proposed;
    for (let s = 1; s <= last; s++) this.stage(s, h);
    const error = this.error(h), finite = Number.isFinite(error);
    if (!(error < 1)) {
      this.h = h * (finite ? Math.max(0.2, 0.9 * error ** tableau.exponent) : 0.2);
      this.retry = true;
      this.failed = !(Math.abs(this.h) > LEAST_STEP * Math.max(1, Math.abs(this.t)));
      return;
    }
    const factor = error > 0 ? Math.min(10, 0.9 * error ** tableau.exponent) : 10;
    this.h = short ? Math.max(proposed, h) : h * (this.retry ? Math.min(1, factor) : factor);
    this.y.set(point);
    Object.assign(this, { t: short ? bound : this.from + h, taken: h, accepted: true, retry: false });
  }

  // Compute the stage s of a step h; `point` is left at its state.
  stage(s, h) {
    const { before, point, stages, size } = this, [from, weights] = this.tableau.rows[s];
    point.set(before);
    for (let k = 0; k < from.length; k++) {
      const share = h * weights[k], stage = stages[from[k]];
      for (let i = 0; i < size; i++) point[i] += share * stage[i];
    }
    this.rates(this.from + this.tableau.c[s] * h, point, stages[s]);
  }

  // The size of the local error in units of the tolerance, from one estimate, or from two as DOP853 combines them.
  error(h) {
    const { n, before, point, stages } = this, { tolerance, errors: [[from, five], [, three]] } = this.tableau;
    let e5 = 0, e3 = 0;
    for (let i = 0; i < 2 * n; i++) {
      const large = Math.max(Math.abs(before[i]), Math.abs(point[i])), scale = tolerance * (1 + (i < n ? Math.min(1, large) : large));
      let a = 0, b = 0;
      for (let k = 0; k < from.length; k++) {
        a += five[k] * stages[from[k]][i];
        b += three[k] * stages[from[k]][i];
      }
      e5 += (a / scale) ** 2;
      e3 += (b / scale) ** 2;
    }
    return e5 === 0 ? 0 : (Math.abs(h) * e5) / Math.sqrt((e5 + 0.01 * e3) * 2 * n);
  }

  // Fill out with the state at a time within the last step.
  at(t, out) {
    const { tableau, stages, before, size, taken } = this, [from, powers] = tableau.dense;
    if (!this.accepted || t === this.t) {
      out.set(this.y.subarray(0, out.length));
      return out;
    }
    for (let s = tableau.stages + 1; !this.extra && s < stages.length; s++) this.stage(s, taken);
    this.extra = true;
    const u = (t - this.from) / taken, length = Math.min(out.length, size);
    for (let i = 0; i < length; i++) out[i] = before[i];
    for (let k = 0; k < from.length; k++) {
      let share = 0;
      for (let power = powers.length - 1; power >= 0; power--) share = u * (share + powers[power][k]);
      share *= taken;
      const stage = stages[from[k]];
      for (let i = 0; i < length; i++) out[i] += share * stage[i];
    }
    return out;
  }
}
