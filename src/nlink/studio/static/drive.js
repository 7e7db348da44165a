// A crank driven on the stage, by hand or at a rate, without masses: the linkage follows, and the path of a point is drawn.

import { driven } from "./pulling.js";
import { drawPlate } from "./tools.js";
import { field } from "./fields.js";
import { unwound } from "./hand.js";
import { button, drawDisc, el, select } from "/web/dom.js";

const LONGEST = 0.05;
const MOST = 4000;
const RATE = Math.PI / 2;
const PACE = 0.5;

// What one would turn first: a link on the ground that is in a loop, else any link in a loop, else any link.
function crankOf({ bodies, touched }) {
  const rank = ({ parent, slides }, i) => (slides ? 0 : 1 + 2 * touched[i] + (parent < 0)), ranks = bodies.map(rank);
  return ranks.indexOf(Math.max(...ranks));
}

// That of its prescribed motion, if it has one.
function rateOf({ bodies, size }, row, i) {
  return row?.motion?.rate ?? (bodies[i].slides ? Number((PACE * size).toPrecision(2)) : RATE);
}

export class Drive {
  constructor(pane) {
    Object.assign(this, { pane, on: false, rate: RATE, path: [], point: null });
    this.button = button("Drive: turn a crank, without masses (w)", "crank", () => this.toggle(), { class: "toggle", "aria-pressed": "false" });
    this.node = el("div", { class: "driving", hidden: true });
  }

  attach(player, toolbox) {
    this.player = player;
    this.button.tabIndex = -1;
    toolbox.append(this.button);
    player.stage.canvas.parentElement.append(this.node);
    player.over.push((context) => this.draw(context));
    player.keys.push(() => ({ w: () => this.toggle() }));
  }

  toggle() {
    if (this.on) this.stop();
    else this.start();
  }

  // Begin in the pose that is shown at the start.
  start() {
    const { pane, player } = this, { studio } = pane;
    if (studio.error) {
      pane.why(studio.error);
      return;
    }
    if (pane.tools.tool !== "pose") pane.tools.choose("pose");
    player.pause();
    player.jump(0);
    this.set(true);
    this.begin(crankOf(studio.model.linkage));
    this.last = undefined;
    requestAnimationFrame((now) => this.frame(now));
  }

  // Drive this body, from the pose that is shown. The path stays while the bodies do.
  begin(crank) {
    const { model } = this.pane.studio, { table } = model, { links, length, pin, pins } = table, bodies = JSON.stringify([Array.isArray(links) ? links.map(({ motion, ...row }) => row) : links, length, pin, pins]);
    if (bodies !== this.bodies) this.path = [];
    Object.assign(this, { bodies, table, crank, rate: crank === this.crank ? this.rate : rateOf(model.linkage, links[crank], crank) });
    this.go(Float64Array.from(this.theta ?? table.start.theta));
    this.controls();
    this.tell();
  }

  // Go on from these coordinates.
  go(theta, freedom) {
    Object.assign(this, { theta, linkage: this.pane.studio.model.linkage.freed([this.crank]) });
    this.course = { freedom: freedom ?? this.linkage.nature(theta).freedom };
  }

  controls() {
    const { bodies } = this.linkage, slides = bodies[this.crank].slides, names = bodies.map((body, i) => [i, `${body.slides ? "slider" : "link"} ${i + 1}`]);
    const chosen = select("What is driven", names, this.crank, (value) => this.begin(Number(value)));
    this.node.replaceChildren(chosen, field("Rate", { path: "drive.rate", kind: slides ? "number" : "degrees", unit: slides ? "m/s" : "\u00b0/s", value: this.rate, changed: (value) => { if (Number.isFinite(value)) this.rate = value; } }), el("button", { type: "button", class: "word", onclick: () => this.clear() }, "Clear path"));
  }

  tell() {
    const { freedom } = this.course, { hand } = this.pane;
    if (freedom === 0) hand.tell("Over-determined: cannot move");
    else if (freedom > 1 && this.linkage.closures.length) hand.tell(`${freedom} freedoms: drive one more, or the others follow as little as they can`);
    else hand.tell("Drag to turn it by hand; press a point with the point tool to see its path");
  }

  set(on) {
    this.on = on;
    this.button.setAttribute("aria-pressed", String(on));
    this.node.hidden = !on;
  }

  // The path belongs to another model.
  forget() {
    if (!this.on) this.path = [];
  }

  clear() {
    this.path = [];
    this.player.request();
  }

  // The point whose path is drawn.
  trace(point) {
    Object.assign(this, { point, path: [] });
    this.player?.request();
  }

  // The one that was chosen, the one that runs trace, or of a chain its last tip, a middle if a pin holds that.
  get traced() {
    const { linkage, point } = this, { trace } = this.pane.studio.valid.chain;
    if (point && point.link < linkage.n) return point;
    if (trace && trace[0] >= 0) return { link: trace[0], along: trace[1], left: trace[2] };
    const link = linkage.closures.length ? linkage.n >> 1 : linkage.n - 1, { length } = linkage.bodies[link];
    return { link, along: linkage.closures.length ? length / 2 : length, left: 0 };
  }

  frame(now) {
    if (!this.on) return;
    const { model } = this.pane.studio, passed = this.last === undefined ? 0 : Math.min(LONGEST, (now - this.last) / 1000);
    this.last = now;
    if (model.table !== this.table) this.taken();
    if (this.on && !this.pane.hand.full && this.course.freedom) {
      this.show(driven(this.linkage, this.theta, this.crank, this.rate * passed, this.course));
    }
    if (this.on) requestAnimationFrame((later) => this.frame(later));
  }

  // The model has changed under the drive: a hand has turned it, or it is another one.
  taken() {
    const { model } = this.pane.studio, same = model.linkage.n === this.linkage.n;
    if (this.pane.hand.full && same) {
      this.table = model.table;
      this.go(Float64Array.from(model.table.start.theta), this.course.freedom);
      this.record();
      return;
    }
    this.theta = null;
    this.begin(same ? this.crank : 0);
  }

  show(theta) {
    this.theta = theta;
    this.record();
    const { chain } = this.pane.studio.valid;
    if (chain.n !== theta.length) return;
    this.player.hold(theta, chain);
    this.player.widen();
  }

  record() {
    const { x, y } = this.linkage.point(this.linkage.frames(this.theta), this.traced);
    this.path.push([x, y]);
    if (this.path.length > MOST) this.path.shift();
  }

  // The pose in which it stands becomes the start; not where a prescribed motion says how it begins.
  stop() {
    if (!this.on) return;
    this.set(false);
    const { studio, hand } = this.pane;
    hand.tell("Drag any link");
    if (this.theta && studio.model.table === this.table && !studio.model.linkage.free.includes(false)) studio.posed(unwound({ chain: studio.valid.chain, angles: this.theta }, this.linkage), new Float64Array(this.theta.length), true);
    else this.player.hold(null);
    this.theta = null;
  }

  draw(context) {
    const { stage } = this.player;
    if (this.point && this.point.link < this.pane.studio.model.linkage.n && stage.motion.n === this.pane.studio.model.linkage.n) {
      const { linkage } = this.pane.studio.model, frames = linkage.frames(stage.motion.angles), { link } = this.point;
      const [a, b, at] = [{ link, along: 0, left: 0 }, { link, along: linkage.bodies[link].length, left: 0 }, this.point].map((point) => { const { x, y } = linkage.point(frames, point); return stage.pixel(x, y); });
      if (this.point.left) drawPlate(context, [a, at, b], stage.colours.accent);
      drawDisc(context, at, 5, stage.colours.accent);
    }
    if (this.path.length < 2) return;
    Object.assign(context, { strokeStyle: stage.colours.accent, lineWidth: 2, lineJoin: "round" });
    context.beginPath();
    for (const [x, y] of this.path) context.lineTo(...stage.pixel(x, y));
    context.stroke();
  }
}