// The chain in the hand of the user: grabbed where it is, also while it moves, dragged, thrown; assembled the other way.

import { Poser } from "./poser.js";
import { SpacePoser } from "./spaceposer.js";
import { mirrored } from "./pulling.js";
import { el } from "/web/dom.js";

export class Hand {
  constructor(pane) {
    this.pane = pane;
    this.hint = el("p", { class: "pose-hint" }, "Drag any link");
    this.other = el("button", { type: "button", class: "word other", hidden: true, title: "The same loop, assembled the other way", onclick: () => this.turnOver() }, "Other branch");
  }

  // Reach for the chain on the stage of a player.
  attach(player) {
    const { endless } = this.pane, stage = player.root.querySelector(".stage");
    this.player = player;
    stage.querySelector(".tools").append(this.other);
    this.invite();
    this.poser = this.pane.inSpace ? new SpacePoser(this.pane, player) : new Poser(player.stage, {
      linkage: () => this.pane.studio.model.linkage, grab: () => this.grab(), pose: (theta) => this.drag(theta), release: (theta, rates) => this.release(theta, rates),
      pulls: () => endless.on, pull: (hand) => endless.pull(hand),
    });
  }

  invite() {
    this.tell(this.pane.inSpace ? "Drag a link, or beside it to turn the view" : "Drag any link");
  }

  get full() {
    return Boolean(this.poser?.held);
  }

  // refused: it says why something was not done.
  tell(text, refused = false) {
    this.hint.textContent = text;
    this.hint.classList.toggle("refused", refused);
    this.hint.hidden = false;
  }

  // The coordinates as they are shown; null if they are not those of the model.
  grab() {
    const { player, pane: { studio } } = this, motion = player.posed || player.motion;
    if (studio.error || motion.n !== studio.valid.chain.n) return null;
    motion.at(player.posed ? 0 : player.t);
    const start = player.elapsed === 0 && !player.posed, theta = start ? studio.model.table.start.theta : unwound(motion, studio.model.linkage);
    this.grabbed = { playing: player.playing, start, chain: motion.chain };
    player.pause();
    return theta;
  }

  drag(theta) {
    const { playing, start, chain } = this.grabbed;
    this.hint.hidden = true;
    this.player.hold(theta, chain);
    this.pane.studio.posed(theta, start && !playing ? null : new Float64Array(theta.length), false);
  }

  // Let go. A motion that was playing goes on from the pose, with the throw of the hand.
  release(theta, rates) {
    const { playing } = this.grabbed;
    if (theta) {
      if (playing) this.pane.wishes.play = true;
      this.pane.studio.posed(theta, playing ? rates : null, true);
    } else {
      this.player.hold(null);
      if (playing) this.player.play();
    }
  }

  turnOver() {
    const { player } = this, { motion } = player;
    motion.at(player.t);
    this.pane.wishes.play = player.playing;
    this.pane.studio.posed(mirrored(motion.chain, unwound(motion, this.pane.studio.model.linkage)), new Float64Array(motion.n), true);
  }
}

// Coordinates to pose from: angles without whole turns, unless springs are wound by them or gears count them.
export function unwound({ chain, angles }, { bodies, closures }) {
  const counted = chain.spring || closures.some(({ kind }) => kind === "gear");
  return Float64Array.from(angles, (angle, i) => (counted || bodies[i].slides ? angle : angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI))));
}
