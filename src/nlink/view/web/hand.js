// The pointer on the stage: it pulls at a link that moves, and poses one that stands still. A link that is posed turns about its
// hinge, and the links behind it keep their angles; with Shift they turn with it.

import { placeIn } from "./dom.js";

const JOINT = 12;
const STILL = 24;
const MOVING = 56;

export class Hand {
  // actions: moves(), grab(link, share, x, y), drag(x, y), release(), pose(theta)
  constructor(stage, actions) {
    Object.assign(this, { stage, actions, held: null });
    const { canvas } = stage, view = canvas.parentElement;
    view.addEventListener("pointerdown", (event) => this.down(event), true);
    view.addEventListener("pointermove", (event) => this.move(event), true);
    for (const kind of ["pointerup", "pointercancel"]) view.addEventListener(kind, (event) => this.up(event), true);
    canvas.addEventListener("touchstart", (event) => { if (this.held) event.preventDefault(); }, { passive: false });
  }

  // A point of the canvas in m.
  point([x, y]) {
    const { camera, width, height } = this.stage;
    return [(x - width / 2) / camera.scale + camera.x, (height / 2 - y) / camera.scale + camera.y];
  }

  // The link under a point, and where along it; at a joint the end of the link before it. One that moves is harder to meet.
  under(point) {
    const { stage } = this, { motion } = stage, link = stage.linkAt(...point, this.actions.moves() ? MOVING : STILL);
    if (link < 0) return null;
    const [hx, hy] = stage.pixel(motion.x[link], motion.y[link]);
    if (link > 0 && Math.hypot(point[0] - hx, point[1] - hy) < JOINT) return { link: link - 1, share: 1 };
    const [ex, ey] = stage.pixel(motion.x[link + 1], motion.y[link + 1]), dx = ex - hx, dy = ey - hy;
    return { link, share: Math.min(1, Math.max(0, ((point[0] - hx) * dx + (point[1] - hy) * dy) / (dx * dx + dy * dy || 1))) };
  }

  // The direction from a link's hinge to a point of the canvas, as an angle of the chain.
  angle(link, [x, y]) {
    const { stage } = this, [hx, hy] = stage.pixel(stage.motion.x[link], stage.motion.y[link]);
    return Math.atan2(x - hx, y - hy);
  }

  down(event) {
    const { stage, actions } = this;
    if (event.button > 0 || event.target !== stage.canvas || this.held) return;
    const point = placeIn(stage.canvas, event), found = this.under(point);
    if (!found) return;
    event.stopImmediatePropagation();
    stage.canvas.setPointerCapture(event.pointerId);
    stage.chosen?.(found.link);
    const pulls = actions.moves();
    this.held = { ...found, pulls, pointer: event.pointerId, last: this.angle(found.link, point), theta: Float64Array.from(stage.motion.angles) };
    if (pulls) actions.grab(found.link, found.share, ...this.point(point));
  }

  move(event) {
    const { stage, held, actions } = this, point = placeIn(stage.canvas, event);
    if (!held) {
      if (event.target === stage.canvas) stage.canvas.classList.toggle("near", Boolean(this.under(point)));
      return;
    }
    if (event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    if (held.pulls) {
      actions.drag(...this.point(point));
      return;
    }
    const now = this.angle(held.link, point), turned = now - held.last - 2 * Math.PI * Math.round((now - held.last) / (2 * Math.PI));
    held.last = now;
    for (let i = held.link; i < (event.shiftKey ? held.theta.length : held.link + 1); i++) held.theta[i] += turned;
    actions.pose(held.theta);
  }

  up(event) {
    if (!this.held || event.pointerId !== this.held.pointer) return;
    event.stopImmediatePropagation();
    this.drop();
  }

  drop() {
    const { held } = this;
    this.held = null;
    if (held?.pulls) this.actions.release();
  }
}
