// The stage of a chain that is simulated: its near-copies behind it, and the hand that pulls.

import { Stage } from "./stage.js";
import { drawDisc, drawLine } from "./dom.js";
import { embers, rgb } from "./colours.js";

export class LiveStage extends Stage {
  drawTrail() {
    this.drawCopies();
    super.drawTrail();
  }

  // The copies as thin lines, the nearest bright.
  drawCopies() {
    const { context, simulation, thickness, colours } = this, { length } = simulation.values, states = simulation.states.slice(1);
    Object.assign(context, { lineJoin: "round", lineCap: "round", lineWidth: Math.max(1.3, 0.22 * thickness), globalAlpha: colours.dark ? 0.75 : 0.6 });
    states.forEach((state, k) => {
      const share = 0.22 + (0.5 * k) / Math.max(1, states.length - 1), colour = rgb(embers(colours.dark ? share : share + 0.12));
      let [x, y] = [0, 0];
      context.strokeStyle = colour;
      context.beginPath();
      context.moveTo(...this.pixel(0, 0));
      for (let i = 0; i < length.length; i++) {
        x += length[i] * Math.sin(state[i]);
        y -= length[i] * Math.cos(state[i]);
        context.lineTo(...this.pixel(x, y));
      }
      context.stroke();
      drawDisc(context, this.pixel(x, y), 0.6 * context.lineWidth + 1.5, colour);
    });
    context.globalAlpha = 1;
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
