// A chain that is simulated in the page: its numbers, its motion with the work of the loads, and near-copies of it.
//
// The equations are those that nlink derives: `equations` has derivative(t, state, p, rates) and energies(state, p, values). A hand
// that pulls at a point of a link acts through the joint torques T of the derived code: its generalised force on angle k is
// Q_k = F . d(point)/d(theta_k), and T_i = sum_{k >= i} Q_k gives the same moments on all links.

import { Pair } from "./pair.js";

// Steps between two looks at the clock.
const BURST = 8;
// The spring of the hand: its frequency in rad/s on the mass of the chain; how many times the weight it holds at the length of the
// chain; the stretch, in lengths of the chain, at which its force is bounded.
const FASTEST = 12;
const LIFT = 40;
const STRETCH = 1 / 6;

export class Simulation {
  // model: { n, parameters: [{ name, symbol, each, value }], start, copies, difference, powers, tableau }; at every
  // `interval` of time recorded(t, y, energy), at a new beginning cleared().
  constructor(model, equations, { interval, recorded, cleared }) {
    Object.assign(this, { model, equations, interval, recorded, cleared, n: model.n, p: {}, hand: null });
    this.size = 2 * model.n + model.powers.length + 1;
    this.torque = new Float64Array(model.n);
    this.pull = new Float64Array(model.n);
    this.powers = new Float64Array(2 + model.powers.length);
    this.restore();
  }

  // The numbers, the start and the copies of the model.
  restore() {
    const { model } = this, copied = (value) => (Array.isArray(value) ? [...value] : value);
    this.values = Object.fromEntries(model.parameters.map(({ name, value }) => [name, copied(value)]));
    this.origin = { theta: [...model.start.theta], omega: [...model.start.omega] };
    Object.assign(this, { count: model.copies, difference: model.difference });
    this.refresh();
    this.restart();
  }

  // Put the values where the derived code reads them. A link of another length or mass is similar to that of the model.
  refresh() {
    const { model, values, p } = this, { length, mass } = values, own = Object.fromEntries(model.parameters.map(({ name, value }) => [name, value]));
    for (let i = 0; i < this.n; i++) {
      const wide = length[i] / own.length[i], heavy = own.mass[i] > 0 ? mass[i] / own.mass[i] : 1;
      values.com[i] = own.com[i] * wide;
      values.offset[i] = own.offset[i] * wide;
      values.inertia[i] = own.inertia[i] * wide * wide * heavy;
    }
    for (const { name, symbol } of model.parameters) if (symbol) p[symbol] = values[name];
    p.T = this.torque;
    [this.constant, this.amplitude, this.frequency, this.phase] = model.torques.map((name) => values[name]);
  }

  // Begin at t = 0 from the start.
  restart() {
    const y = new Float64Array(this.size);
    y.set(this.origin.theta);
    y.set(this.origin.omega, this.n);
    Object.assign(this, { t: 0, next: 0, brought: 0, base: 0, passed: [], hand: null, states: [y], bodies: [this.body(this.size)] });
    this.first = this.energy(y);
    this.base = this.first.total;
    this.cleared();
    this.gather();
    this.work();
  }

  body(size) {
    const { n } = this, ledger = size > 2 * n, rates = (t, y, out) => this.rates(t, y, out, ledger);
    return new Pair(this.model.tableau, rates, n, size);
  }

  // Put the copies beside the chain as it is now, the first angle of each a little further.
  gather() {
    const { n, count } = this, [state] = this.states, copies = Array.from({ length: count }, (_, k) => this.bodies[k + 1] ?? this.body(2 * n));
    this.states = [state, ...copies.map((_, k) => {
      const own = state.slice(0, 2 * n);
      own[0] += (k + 1) * this.difference;
      return own;
    })];
    this.bodies = [this.bodies[0], ...copies];
    this.renew();
  }

  // Go on from the moment that is shown: something has changed.
  renew() {
    this.bodies.forEach((body, k) => body.start(this.t, this.states[k]));
    this.next -= this.passed.length;
    Object.assign(this, { goal: this.t, turn: 0, passed: [], failed: false });
  }

  // Change numbers while it moves. The energy that this brings is no error of the motion, and does not count in the residual.
  change(act) {
    const before = this.energy(this.states[0]).total;
    act();
    this.refresh();
    this.brought += this.energy(this.states[0]).total - before;
    this.renew();
  }

  // Rates of the state, and of the work of each load and of the hand behind it.
  rates(t, y, out, ledger) {
    const { n, p, torque, pull, powers, equations, constant, amplitude, frequency, phase } = this;
    for (let i = 0; i < n; i++) torque[i] = constant[i] + (amplitude[i] ? amplitude[i] * Math.sin(2 * Math.PI * frequency[i] * t + phase[i]) : 0);
    if (ledger) {
      equations.energies(y, p, powers);
      for (let k = 2; k < powers.length; k++) out[2 * n + k - 2] = powers[k];
      out[this.size - 1] = 0;
    }
    if (this.hand) {
      this.pulled(t, y);
      for (let i = n - 1, sum = 0; i >= 0; i--) {
        sum += pull[i];
        torque[i] += sum;
        if (ledger) out[this.size - 1] += pull[i] * y[n + i];
      }
    }
    equations.derivative(t, y, p, out);
  }

  // The generalised forces of the hand: a spring and a damper between the point that is held and a point that moves evenly. However
  // far the pointer jumps, the force stays below `most`.
  pulled(t, y) {
    const { n, pull, hand } = this, { length } = this.values, { link, share, stiffness, damping, most } = hand;
    let x = 0, h = 0, vx = 0, vy = 0;
    for (let k = 0; k <= link; k++) {
      const long = k < link ? length[k] : share * length[k], s = long * Math.sin(y[k]), c = long * Math.cos(y[k]);
      x += s;
      h -= c;
      vx += c * y[n + k];
      vy += s * y[n + k];
    }
    const late = t - hand.t, wishX = stiffness * (hand.x + hand.vx * late - x) + damping * (hand.vx - vx);
    const wishY = stiffness * (hand.y + hand.vy * late - h) + damping * (hand.vy - vy);
    const weaker = 1 / Math.sqrt(1 + (wishX * wishX + wishY * wishY) / (most * most)), fx = weaker * wishX, fy = weaker * wishY;
    for (let k = 0; k < n; k++) {
      const long = k < link ? length[k] : k === link ? share * length[k] : 0;
      pull[k] = long * (fx * Math.cos(y[k]) + fy * Math.sin(y[k]));
    }
  }

  // Take hold of a point of a link at (x, y): strong enough to lift the chain, and damped.
  grab(link, share, x, y) {
    const { length, mass, inertia, gravity } = this.values, sum = (values) => values.reduce((a, b) => a + b, 0);
    const reach = sum(length), heavy = sum(mass) + sum(inertia.map((i, k) => i / length[k] ** 2));
    const rate2 = FASTEST ** 2 + (LIFT * Math.abs(gravity)) / reach, stiffness = heavy * rate2;
    this.hand = { link, share, x, y, vx: 0, vy: 0, t: this.t, toX: x, toY: y, stiffness, damping: heavy * Math.sqrt(rate2), most: STRETCH * stiffness * reach };
    this.renew();
  }

  drag(x, y) {
    Object.assign(this.hand, { toX: x, toY: y });
  }

  release() {
    this.hand = null;
    this.renew();
  }

  // Ask for the motion up to a later time. The hand moves there evenly.
  aim(goal) {
    if (!(goal > this.t)) return;
    const { hand, t } = this;
    if (hand) {
      const h = goal - t, x = hand.x + hand.vx * (t - hand.t), y = hand.y + hand.vy * (t - hand.t);
      Object.assign(hand, { t, x, y, vx: (hand.toX - x) / h, vy: (hand.toY - y) / h });
      this.renew();
    }
    Object.assign(this, { goal, turn: 0 });
  }

  // Work towards the goal until a moment of the clock; return whether it is reached.
  work(deadline = Infinity) {
    const { bodies, goal } = this, [main] = bodies;
    this.pass();
    for (let tries = 1; this.turn < bodies.length; this.turn++) {
      const body = bodies[this.turn];
      while (body.t < goal) {
        body.step(this.hand ? goal : Infinity);
        if (body === main) this.pass();
        this.failed ||= body.failed;
        if (this.failed || (tries++ % BURST === 0 && performance.now() > deadline)) return false;
      }
    }
    bodies.forEach((body, k) => body.at(goal, this.states[k]));
    for (const [t, y] of this.passed) this.recorded(t, y, this.energy(y));
    Object.assign(this, { t: goal, passed: [] });
    return true;
  }

  // Keep the points of the grid up to the goal that the motion has passed.
  pass() {
    const [main] = this.bodies, end = Math.min(main.t, this.goal);
    for (let t = this.next * this.interval; t <= end; t = ++this.next * this.interval) this.passed.push([t, main.at(t, new Float64Array(this.size))]);
  }

  // Kinetic, potential and total energy, the work of all loads and of the hand, and what of the change of energy is not that work.
  energy(y) {
    const { n, size } = this, [kinetic, potential] = this.equations.energies(y, this.p, this.powers);
    let work = 0;
    for (let k = 2 * n; k < size; k++) work += y[k];
    const total = kinetic + potential;
    return { kinetic, potential, total, work: work + this.brought, residual: total - this.base - this.brought - work };
  }

  // The largest distance in m of the tip of a copy from that of the chain; 0 without copies.
  apart() {
    const { length } = this.values, tip = (state) => length.reduce(([x, y], long, k) => [x + long * Math.sin(state[k]), y - long * Math.cos(state[k])], [0, 0]);
    const [[x, y], ...others] = this.states.map(tip);
    return Math.max(0, ...others.map((other) => Math.hypot(other[0] - x, other[1] - y)));
  }
}
