// Grab a chain on the stage, at any point of any link. An open chain's link turns about its hinge, and those behind keep their angles
// (with Shift they turn with it, with Alt those before it follow the hand). A closed chain stays closed and on its branch.

import { gripped, pulled, thrown } from "./pulling.js";
import { placeIn } from "/web/dom.js";

const JOINT = 12;
const SLOP = 3;

export class Poser {
  // grab() -> { chain, theta } or null if nothing can be grabbed now; pose(theta) while it is dragged; release(theta, rates), or
  // release(null) if it was not moved; pull({ link, along, left, x, y }) or pull(null) instead, where pulls() says so
  constructor(stage, { grab, pose, release, pulls, pull }) {
    Object.assign(this, { stage, grab, pose, release, pulls, pull, held: null });
    const view = stage.canvas.parentElement;
    view.addEventListener("pointerdown", (event) => this.down(event), true);
    view.addEventListener("pointermove", (event) => this.move(event), true);
    for (const kind of ["pointerup", "pointercancel"]) view.addEventListener(kind, (event) => this.up(event), true);
    stage.canvas.addEventListener("touchstart", (event) => { if (this.held) event.preventDefault(); }, { passive: false });
  }

  // The link under a point; at a joint the one before it, so that the joint follows the pointer.
  linkAt(point) {
    const { stage } = this, link = stage.linkAt(...point);
    if (link < 1) return link;
    const [x, y] = stage.pixel(stage.motion.x[link], stage.motion.y[link]);
    return Math.hypot(point[0] - x, point[1] - y) < JOINT ? link - 1 : link;
  }

  // The point of the link under the pointer: so far along it, and to its left.
  grip(link, place) {
    const { x, y, angles } = this.stage.motion, [px, py] = this.stage.world(place), dx = px - x[link], dy = py - y[link];
    const s = Math.sin(angles[link]), c = Math.cos(angles[link]);
    return { link, along: dx * s - dy * c, left: dx * c + dy * s };
  }

  down(event) {
    if (event.button > 0 || this.held || event.target !== this.stage.canvas) return;
    const place = placeIn(this.stage.canvas, event), link = this.linkAt(place);
    if (link < 0) return;
    const grip = this.grip(link, place), taken = this.pulls() ? {} : this.grab();
    if (!taken) return;
    event.stopImmediatePropagation();
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.chosen?.(link);
    this.held = { grip, from: place, pointer: event.pointerId, moved: false, course: {}, pulling: this.pulls(), poses: [], ...taken };
    if (this.held.pulling) this.tell(place);
  }

  tell(place) {
    const [x, y] = this.stage.world(place);
    this.pull({ ...this.held.grip, x, y });
  }

  move(event) {
    const { held } = this;
    if (!held) {
      if (event.target === this.stage.canvas) this.stage.canvas.classList.toggle("posable", this.stage.linkAt(...placeIn(this.stage.canvas, event)) >= 0);
      return;
    }
    if (event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    const place = placeIn(this.stage.canvas, event);
    if (held.pulling) {
      this.tell(place);
      return;
    }
    if (!held.moved && Math.hypot(place[0] - held.from[0], place[1] - held.from[1]) < SLOP) return;
    held.moved = true;
    held.theta = this.turned(held, this.stage.world(place), event);
    held.poses.push({ time: event.timeStamp, theta: held.theta });
    if (held.poses.length > 60) held.poses.shift();
    this.pose(held.theta);
  }

  turned({ chain, theta, grip, course }, hand, { shiftKey, altKey }) {
    const { link } = grip;
    if (chain.pin) return pulled(chain, theta, grip, hand, { course });
    const next = pulled(chain, theta, grip, hand, { turns: (i) => (altKey ? i <= link : i === link) });
    if (shiftKey) for (let i = link + 1; i < chain.n; i++) next[i] += next[link] - theta[link];
    return next;
  }

  up(event) {
    const { held } = this;
    if (!held || event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    this.held = null;
    if (held.pulling) this.pull(null);
    else if (held.moved) this.release(held.theta, thrown(held.poses, event.timeStamp));
    else this.release(null);
  }
}

// Where the hand pulls: the point of the link that it holds, on the stage.
export function heldPoint(stage, hand) {
  const { x, y } = gripped(stage.motion.chain, stage.motion.angles, hand);
  return stage.pixel(x, y);
}
