// Pose a chain by dragging its links on the stage. A dragged link turns about its hinge, the links behind it keep their angles
// (with Shift they turn with it). A closed chain stays closed: the other links give way.

import { placeIn } from "/web/dom.js";

const ROUNDS = 40;
const JOINT = 12;

// Angles nearest to these that close the chain, the dragged link kept; null if it cannot be closed so.
export function closed(chain, angles, kept) {
  const { n, length, pin } = chain, theta = Float64Array.from(angles), total = length.reduce((sum, one) => sum + one, 0);
  for (let round = 0; round < ROUNDS; round++) {
    let x = -pin[0], y = -pin[1], xx = 0, xy = 0, yy = 0;
    for (let i = 0; i < n; i++) {
      const s = length[i] * Math.sin(theta[i]), c = length[i] * Math.cos(theta[i]);
      x += s;
      y -= c;
      if (i === kept) continue;
      xx += c * c;
      xy += c * s;
      yy += s * s;
    }
    if (Math.hypot(x, y) < 1e-10 * total) return theta;
    const damp = 1e-9 * total * total, det = (xx + damp) * (yy + damp) - xy * xy;
    const u = ((yy + damp) * x - xy * y) / det, v = ((xx + damp) * y - xy * x) / det;
    for (let i = 0; i < n; i++) {
      if (i !== kept) theta[i] -= Math.max(-0.5, Math.min(0.5, length[i] * (Math.cos(theta[i]) * u + Math.sin(theta[i]) * v)));
    }
  }
  return null;
}

export class Poser {
  // active(): whether links can be dragged now; pose(theta, over): new angles, `over` at the end of the drag
  constructor(stage, { active, pose }) {
    Object.assign(this, { stage, active, pose, held: null });
    const view = stage.canvas.parentElement;
    view.addEventListener("pointerdown", (event) => this.down(event), true);
    view.addEventListener("pointermove", (event) => this.move(event), true);
    for (const kind of ["pointerup", "pointercancel"]) view.addEventListener(kind, (event) => this.up(event), true);
    stage.canvas.addEventListener("touchstart", (event) => { if (this.held) event.preventDefault(); }, { passive: false });
  }

  // The direction from a link's hinge to a point of the canvas, as an angle of the chain.
  angle(link, [x, y]) {
    const { motion } = this.stage, [hx, hy] = this.stage.pixel(motion.x[link], motion.y[link]);
    return Math.atan2(x - hx, y - hy);
  }

  // The link under a point; at a joint the one before it, so that the joint follows the pointer.
  linkAt(point) {
    const { stage } = this, link = stage.linkAt(...point);
    if (link < 1) return link;
    const [x, y] = stage.pixel(stage.motion.x[link], stage.motion.y[link]);
    return Math.hypot(point[0] - x, point[1] - y) < JOINT ? link - 1 : link;
  }

  down(event) {
    if (event.button > 0 || event.target !== this.stage.canvas || !this.active()) return;
    const point = placeIn(this.stage.canvas, event), link = this.linkAt(point);
    if (link < 0) return;
    event.stopImmediatePropagation();
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.chosen?.(link);
    this.held = { link, pointer: event.pointerId, last: this.angle(link, point), theta: Float64Array.from(this.stage.motion.angles), moved: false };
  }

  move(event) {
    if (!this.held) {
      if (event.target === this.stage.canvas) this.stage.canvas.classList.toggle("posable", this.active() && this.stage.linkAt(...placeIn(this.stage.canvas, event)) >= 0);
      return;
    }
    if (event.pointerId !== this.held.pointer) return;
    event.stopImmediatePropagation();
    const { held } = this, chain = this.stage.chain, now = this.angle(held.link, placeIn(this.stage.canvas, event));
    const turned = now - held.last - 2 * Math.PI * Math.round((now - held.last) / (2 * Math.PI)), theta = Float64Array.from(held.theta);
    for (let i = held.link; i < (event.shiftKey && !chain.pin ? chain.n : held.link + 1); i++) theta[i] += turned;
    const fitting = chain.pin ? closed(chain, theta, held.link) : theta;
    held.last = now;
    if (!fitting) return;
    Object.assign(held, { theta: fitting, moved: true });
    this.pose(fitting, false);
  }

  up(event) {
    if (!this.held || event.pointerId !== this.held.pointer) return;
    event.stopImmediatePropagation();
    const { held } = this;
    this.held = null;
    if (held.moved) this.pose(held.theta, true);
  }
}
