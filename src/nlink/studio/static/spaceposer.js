// Pose a chain in space: grab a link at any point of it, and drag it in the plane of the view. Links behind keep their directions; with
// Shift they turn with it, as those on hinges do.

import { SpaceMotion, turned } from "/web/spacemotion.js";
import { placeIn } from "/web/dom.js";

const NEAR = 14;
const SLOP = 3;
const LEAST = 0.2;
const ROUNDS = 6;
const SWING = 80, REST = 20, FASTEST = 50;

const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];
const unit = (a) => { const size = Math.hypot(...a) || 1; return a.map((value) => value / size); };
const conjugate = ([w, x, y, z]) => [w, -x, -y, -z];

export function times([a, b, c, d], [w, x, y, z]) {
  return [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w];
}

function about(axis, angle) {
  return [Math.cos(angle / 2), ...axis.map((part) => part * Math.sin(angle / 2))];
}

// The shortest turn from one direction to another.
export function between(from, to) {
  const bow = [1 + dot(from, to), ...cross(from, to)];
  return bow[0] < 1e-9 ? about(unit(cross(from, Math.abs(from[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0])), Math.PI) : unit(bow);
}

// The angle about an axis from one direction to another, both seen along the axis.
function angleAbout(axis, from, to) {
  return Math.atan2(dot(axis, cross(from, to)), dot(from, to) - dot(axis, from) * dot(axis, to));
}

// How the links of a chain stand: rows as its picture takes them, and entries of the pose of a model.
export class Standing {
  constructor(chain, rows) {
    this.chain = chain;
    this.motion = new SpaceMotion(chain, Float64Array.of(0), Float64Array.from(rows), new Float64Array(rows.length)).at(0);
  }

  get rows() {
    return Float64Array.from(this.motion.pose);
  }

  hinge(i) {
    return [this.motion.x[i], this.motion.y[i], this.motion.z[i]];
  }

  rotation(i) {
    return i < 0 ? [1, 0, 0, 0] : [...this.motion.quaternion(i)];
  }

  // The axes of the joint of a link, in space.
  axes(i) {
    return this.chain.pins[i].map(([owner, axis]) => turned(this.rotation(owner), axis));
  }

  // Turn links: this one, those on hinges behind it, and all behind it if they go together.
  turn(i, by, together) {
    const { chain, motion } = this;
    for (let k = i; k < chain.n && (k === i || together || chain.pins[k].length); k++) {
      const from = motion.first[k], now = chain.turns[k] ? times(by, motion.quaternion(k)) : turned(by, motion.direction(k));
      now.forEach((value, j) => { motion.pose[from + j] = value; });
    }
    motion.place();
  }

  // Bring a point of a link, so far along it, as near to a place as its joint lets it.
  reach(i, target, together) {
    const way = () => unit(target.map((value, k) => value - this.hinge(i)[k])), count = this.chain.pins[i].length;
    if (!count) this.turn(i, between(this.motion.direction(i), way()), together);
    for (let round = 0; round < (count > 1 ? ROUNDS : count); round++) {
      for (let k = count - 1; k >= 0; k--) {
        const axis = this.axes(i)[k];
        this.turn(i, about(axis, angleAbout(axis, this.motion.direction(i), way())), together);
      }
    }
  }

  // The entry of a link in the pose of a model: a direction, a quaternion, or the angles of its joint.
  entry(i) {
    const { chain, motion } = this, pins = chain.pins[i];
    if (!pins.length) return [...(chain.turns[i] ? motion.quaternion(i) : motion.direction(i))];
    const q = times(conjugate(this.rotation(i - 1)), this.rotation(i)), spin = (turn, axis) => 2 * Math.atan2(dot(turn.slice(1), axis), turn[0]);
    if (pins.length === 1) return spin(q, pins[0][1]);
    const [first, second] = pins.map(([, axis]) => axis), angle = angleAbout(first, second, turned(q, second));
    return [angle, spin(times(conjugate(about(first, angle)), q), second)];
  }

  pose() {
    return this.chain.pins.map((_, i) => this.entry(i));
  }
}

// The rates with which a chain goes from one standing to the next in so many seconds, as entries of a model.
export function ratesOf(before, after, seconds) {
  const { chain } = after, paced = (rate) => Math.max(-FASTEST, Math.min(FASTEST, rate / seconds)), turns = (angle) => paced(angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI)));
  return chain.pins.map((pins, i) => {
    const [a, b] = [before.entry(i), after.entry(i)];
    if (pins.length === 1) return turns(b - a);
    if (pins.length) return a.map((angle, k) => turns(b[k] - angle));
    const way = chain.turns[i] ? times(b, conjugate(a)) : between(a, b), angle = 2 * Math.atan2(Math.hypot(...way.slice(1)), way[0]);
    return unit(way.slice(1)).map((part) => turns(angle) * part);
  });
}

export function still(chain) {
  return chain.pins.map((pins) => (pins.length === 1 ? 0 : Array(pins.length || 3).fill(0)));
}

// The start of a model that goes on as a motion does at the time that it shows.
export function startFrom(motion) {
  const standing = new Standing(motion.chain, motion.pose), omega = (i) => (i < 0 ? [0, 0, 0] : motion.turning(i));
  const rates = motion.chain.pins.map((pins, i) => {
    const against = omega(i).map((part, k) => part - omega(i - 1)[k]), axes = standing.axes(i), along = axes.map((axis) => dot(axis, against));
    if (!pins.length) return omega(i);
    if (pins.length === 1) return along[0];
    const share = dot(...axes), [p, q] = along, rest = 1 - share * share;
    return [(p - share * q) / rest, (q - share * p) / rest];
  });
  return { pose: standing.pose(), omega: rates };
}

export class SpacePoser {
  constructor(pane, player) {
    Object.assign(this, { pane, player, stage: player.stage, held: null });
    const view = this.stage.canvas.parentElement;
    view.addEventListener("pointerdown", (event) => this.down(event), true);
    view.addEventListener("pointermove", (event) => this.move(event), true);
    for (const kind of ["pointerup", "pointercancel"]) view.addEventListener(kind, (event) => this.up(event), true);
  }

  down(event) {
    const { stage, player, pane: { studio } } = this;
    if (event.button > 0 || this.held || event.target !== stage.canvas) return;
    const place = placeIn(stage.canvas, event), link = stage.linkAt(...place, NEAR), shown = player.posed || player.motion;
    if (link < 0 || studio.error || shown.n !== studio.valid.chain.n) return;
    event.stopImmediatePropagation();
    stage.canvas.setPointerCapture(event.pointerId);
    stage.chosen?.(link);
    shown.at(player.posed ? 0 : player.t);
    if (this.pane.endless.on) {
      const { place: grip, share } = this.gripOf(shown, link, place);
      this.held = { link, pointer: event.pointerId, pulling: true, grip, along: share * shown.chain.length[link] };
      this.pull(place);
      return;
    }
    const { chain } = shown, start = player.elapsed === 0 && !player.posed, standing = new Standing(chain, start ? studio.valid.stand.rows : shown.pose);
    this.held = { link, from: place, pointer: event.pointerId, moved: false, standing, chain, start, playing: player.playing, grip: this.gripOf(standing.motion, link, place).place, poses: [] };
    player.pause();
  }

  // The point of a link that lies under the pointer: its place on the canvas, and its share of the link.
  gripOf(motion, link, [px, py]) {
    const { stage } = this, [a, b] = [stage.point(link), stage.point(link + 1)], dx = b[0] - a[0], dy = b[1] - a[1];
    const share = Math.min(1, Math.max(LEAST, ((px - a[0]) * dx + (py - a[1]) * dy) / (dx * dx + dy * dy || 1)));
    return { share, place: stage.pixel(...motion.spot(link, share * motion.chain.length[link])) };
  }

  // The hand pulls in the plane of the view in which it took hold.
  pull(place) {
    const { link, along, grip } = this.held, [x, y, z] = this.stage.camera.point(place, grip);
    this.pane.endless.pull({ link, along, x, y, z });
  }

  move(event) {
    const { held, stage } = this;
    if (!held) {
      if (event.target === stage.canvas) stage.canvas.classList.toggle("posable", stage.linkAt(...placeIn(stage.canvas, event), NEAR) >= 0);
      return;
    }
    if (event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    const place = placeIn(stage.canvas, event);
    if (held.pulling) {
      this.pull(place);
      return;
    }
    if (!held.moved && Math.hypot(place[0] - held.from[0], place[1] - held.from[1]) < SLOP) return;
    held.moved = true;
    held.standing = new Standing(held.chain, held.standing.rows);
    held.standing.reach(held.link, stage.camera.point(place, held.grip), event.shiftKey);
    held.poses.push({ time: event.timeStamp, standing: held.standing });
    if (held.poses.length > 60) held.poses.shift();
    this.pane.hand.hint.hidden = true;
    this.player.hold(held.standing.rows, held.chain);
    this.pane.studio.posed(held.standing.pose(), held.start && !held.playing ? null : still(held.chain), false);
  }

  up(event) {
    const { held, pane, player } = this;
    if (!held || event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    this.held = null;
    if (held.pulling) pane.endless.pull(null);
    else if (held.moved) {
      if (held.playing) pane.wishes.play = true;
      pane.studio.posed(held.standing.pose(), held.playing ? this.swing(held, event.timeStamp) : held.start ? null : still(held.chain), true);
    } else {
      player.hold(null);
      if (held.playing) player.play();
    }
  }

  // The rates with which the hand lets go: of its last moment; a hand that rests has its last pose still.
  swing({ poses, standing, chain }, now) {
    const before = poses.find(({ time }) => now - time < SWING), last = poses[poses.length - 1], end = now - last.time > REST ? now : last.time;
    return before && end > before.time ? ratesOf(before.standing, standing, (end - before.time) / 1000) : still(chain);
  }
}
