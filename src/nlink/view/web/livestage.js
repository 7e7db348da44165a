// The stage of a chain that is simulated: its near-copies behind it with the trails of their tips, and the hand that pulls.

import { Stage } from "./stage.js";
import { drawDisc, drawLine } from "./dom.js";
import { embers, rgb } from "./colours.js";

const TAIL = 0.6;

export class LiveStage extends Stage {
  clear() {
    this.tails = [];
  }

  drawTrail() {
    this.drawCopies();
    super.drawTrail();
  }

  // The copies as thin lines, the nearest bright.
  drawCopies() {
    const { context, simulation, thickness, colours } = this, states = simulation.states.slice(1), low = colours.dark ? 0.1 : 0.3;
    this.tails ??= [];
    Object.assign(context, { lineJoin: "round", lineCap: "round" });
    states.forEach((state, k) => {
      const colour = rgb(embers(low + (0.45 * k) / Math.max(1, states.length - 1))), joints = this.joints(state), tip = joints[joints.length - 1];
      this.drawTail(k, tip, colour);
      Object.assign(context, { strokeStyle: colour, lineWidth: Math.max(1.2, 0.2 * thickness), globalAlpha: 0.55 });
      this.drawPath(joints);
      context.globalAlpha = 1;
      drawDisc(context, this.pixel(...tip), Math.max(2.4, 0.26 * thickness), colour);
    });
  }

  // The ends of the links of a copy in m, the pivot first.
  joints(state) {
    const { length } = this.simulation.values, found = [[0, 0]];
    length.forEach((long, i) => found.push([found[i][0] + long * Math.sin(state[i]), found[i][1] - long * Math.cos(state[i])]));
    return found;
  }

  drawPath(points) {
    const { context } = this;
    context.beginPath();
    for (const point of points) context.lineTo(...this.pixel(...point));
    context.stroke();
  }

  // Where the tip of a copy has been, for a part of the time that the trail of the chain shows.
  drawTail(k, tip, colour) {
    const { context, simulation: { t }, look } = this, tail = (this.tails[k] ??= []);
    if (!tail.length || t > tail[tail.length - 1].t) tail.push({ t, tip });
    while (tail.length && tail[0].t < t - TAIL * look.trail) tail.shift();
    Object.assign(context, { strokeStyle: colour, lineWidth: 1.1, globalAlpha: 0.5 });
    this.drawPath(tail.map((each) => each.tip));
  }

  drawForces() {
    super.drawForces();
    const { context, motion, simulation: { hand }, colours } = this;
    if (!hand) return;
    const { link, share } = hand, at = (row) => row[link] + share * (row[link + 1] - row[link]);
    const from = this.pixel(at(motion.x), at(motion.y)), to = this.pixel(hand.toX, hand.toY);
    context.setLineDash([5, 5]);
    drawLine(context, from, to, colours.ink, 1.6);
    context.setLineDash([]);
    drawDisc(context, from, 4.5, colours.ink);
    drawDisc(context, to, 6.5, colours.accent);
  }
}
