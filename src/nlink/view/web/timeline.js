// The timeline: a slider over the run, with its events as ticks and the trusted time marked.

import { drawLine, el, sized } from "./dom.js";
import { tokens } from "./colours.js";

const THUMB = 18;
const MOST_TICKS = 400;

export class Timeline {
  constructor(seek) {
    this.canvas = el("canvas", { "aria-hidden": "true" });
    const oninput = () => seek(Number(this.input.value));
    this.input = el("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Time", oninput });
    this.node = el("div", { class: "timeline" }, this.canvas, this.input);
  }

  // ticks: shares of the run at which something happened; trusted: a share or null.
  show({ ticks, trusted, still }) {
    this.ticks = ticks.length > MOST_TICKS ? [] : ticks;
    this.trusted = trusted;
    this.input.disabled = still;
  }

  draw(share, text) {
    const { context, width, height } = sized(this.canvas), colours = tokens();
    const at = (part) => THUMB / 2 + part * (width - THUMB), y = Math.round(height / 2);
    if (Math.abs(Number(this.input.value) - share) > 1e-12) this.input.value = share;
    this.input.setAttribute("aria-valuetext", text);
    context.clearRect(0, 0, width, height);
    context.lineCap = "round";
    drawLine(context, [at(0), y], [at(1), y], colours.edge, 5);
    if (this.trusted !== null) {
      context.save();
      context.setLineDash([2, 6]);
      drawLine(context, [at(this.trusted) + 3, y], [at(1), y], colours.panel, 3);
      context.restore();
    }
    drawLine(context, [at(0), y], [at(share), y], colours.accent, 5);
    context.fillStyle = colours.muted;
    for (const tick of this.ticks) context.fillRect(at(tick) - 0.75, y - 11, 1.5, 6);
    if (this.trusted !== null) {
      context.fillStyle = colours.warn;
      context.fillRect(at(this.trusted) - 1, y - 12, 2, 24);
    }
  }
}
