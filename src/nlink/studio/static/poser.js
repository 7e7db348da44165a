// Grab a linkage on the stage, at any point of any body. One in no loop moves by itself, and those behind keep their angles (with Shift
// they turn with it, with Alt those before it follow the hand). Loops stay closed and on their branch.

import { dragged, thrown } from "./pulling.js";
import { placeIn } from "/web/dom.js";

const JOINT = 12;
const SLOP = 3;

export class Poser {
  // linkage() of the model; grab() -> its coordinates or null if nothing can be grabbed now; pose(theta) while it is dragged;
  // release(theta, rates), or release(null) if it was not moved; pull({ link, along, left, x, y }) or pull(null) instead, where pulls()
  // says so
  constructor(stage, { linkage, grab, pose, release, pulls, pull }) {
    Object.assign(this, { stage, linkage, grab, pose, release, pulls, pull, held: null });
    const view = stage.canvas.parentElement;
    view.addEventListener("pointerdown", (event) => this.down(event), true);
    view.addEventListener("pointermove", (event) => this.move(event), true);
    for (const kind of ["pointerup", "pointercancel"]) view.addEventListener(kind, (event) => this.up(event), true);
    stage.canvas.addEventListener("touchstart", (event) => { if (this.held) event.preventDefault(); }, { passive: false });
  }

  // The body under a point; at a joint the one that it hangs on, so that the joint follows the pointer.
  linkAt(point) {
    const { stage } = this, link = stage.linkAt(...point), on = this.linkage().bodies[link]?.parent ?? -1;
    if (on < 0) return link;
    const { x, y } = this.frames();
    const [px, py] = stage.pixel(x[link], y[link]);
    return Math.hypot(point[0] - px, point[1] - py) < JOINT ? on : link;
  }

  frames() {
    return this.linkage().frames(this.stage.motion.angles);
  }

  down(event) {
    if (event.button > 0 || this.held || event.target !== this.stage.canvas) return;
    const place = placeIn(this.stage.canvas, event), link = this.linkAt(place);
    if (link < 0) return;
    const linkage = this.linkage().freed(), grip = linkage.grip(this.frames(), link, ...this.stage.world(place)), theta = this.pulls() ? [] : this.grab();
    if (!theta) return;
    event.stopImmediatePropagation();
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.chosen?.(link);
    this.held = { grip, from: place, pointer: event.pointerId, moved: false, course: {}, pulling: this.pulls(), poses: [], linkage, theta };
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
    held.theta = dragged(held.linkage, held.theta, held.grip, this.stage.world(place), { course: held.course, together: event.shiftKey, all: event.altKey });
    held.poses.push({ time: event.timeStamp, theta: held.theta });
    if (held.poses.length > 60) held.poses.shift();
    this.pose(held.theta);
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
