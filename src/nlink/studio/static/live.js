// The player in the studio: a motion that grows while it is computed, other motions shown over it, further plots.

import { Player } from "/web/player.js";
import { Motion } from "/web/motion.js";
import { TimePlot } from "/web/plots.js";
import { clockDecimals } from "/web/axes.js";
import { card } from "/web/panels.js";
import { drawDisc, el, picture } from "/web/dom.js";

export const HUES = ["second", "third", "fourth", "fifth", "warn", "muted", "ink"];

// A single moment as the player takes it: a chain in its start.
export function still(chain, theta, omega, title) {
  const take = { name: "", summary: "at the start", status: "", words: [], chain, t: Float64Array.of(0), theta: Float64Array.from(theta), omega: Float64Array.from(omega) };
  return { title, about: "", words: [], takes: [{ ...take, energy: null, events: [], trusted: null, step: 1 }] };
}

// A chain that is being posed is shown with room for every pose.
class Posed extends Motion {
  path() {
    const { length, pin } = this.chain, reach = length.reduce((sum, one) => sum + one, 0), half = pin ? 0.5 * (reach + Math.hypot(...pin)) : reach;
    const [x, y] = pin ? [pin[0] / 2, pin[1] / 2] : [0, 0];
    return { x: [], y: [], points: 1, box: [x - half, y - half, x + half, y + half] };
  }
}

export class LivePlayer extends Player {
  constructor(root, content) {
    super(root, content, { header: false });
    this.setGhosts(content.others || []);
    const paint = this.stage.paint.bind(this.stage);
    this.stage.paint = (context, width, height, t) => {
      paint(context, width, height, t);
      this.drawGhosts(context, t);
    };
    this.cards = new Map();
    if (this.shown.t.length === 1) this.grow(this.shown);
  }

  // Keys belong to the player that is seen, and not while a field is being typed into.
  key(event) {
    if (!this.root.offsetParent || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("form, [role=tablist], input:not([type=range]), select, textarea")) return;
    super.key(event);
  }

  // Show other content; with `hold` the time, the view and the playing stay.
  show(content, { hold = false } = {}) {
    const { elapsed, playing } = this, fitted = this.stage.fitted, camera = { ...this.stage.camera };
    this.content = content;
    this.setGhosts(content.others || []);
    this.take(0);
    if (this.shown.t.length === 1) this.grow(this.shown);
    if (!hold) return;
    this.elapsed = Math.min(elapsed, this.motion.span);
    if (!fitted) Object.assign(this.stage, { fitted, camera });
    if (playing !== this.playing) this.setPlaying(playing);
  }

  // The motion has grown: go on from where it is.
  grow(take) {
    this.shown = this.content.takes[0] = take;
    this.motion = new (take.t.length > 1 ? Motion : Posed)(take.chain, take.t, take.theta, take.omega);
    this.decimals = clockDecimals(this.motion.span);
    Object.assign(this.stage, { motion: this.motion, chain: take.chain });
    this.panels.show(take, this.motion, 0, this.link);
    this.tell();
    this.request();
  }

  // While more is to come, wait at the end for it.
  advance(now) {
    if (!this.live) {
      super.advance(now);
      return;
    }
    const before = this.elapsed, { loop } = this;
    this.loop = true;
    super.advance(now);
    this.loop = loop;
    if (this.elapsed < before) this.elapsed = this.motion.span;
  }

  setGhosts(others) {
    this.ghosts = others.map((other, k) => ({ name: other.name, hue: HUES[k % HUES.length], motion: new Motion(this.content.takes[0].chain, other.t, other.theta, other.omega) }));
  }

  drawGhosts(context, t) {
    const { stage } = this;
    context.lineJoin = context.lineCap = "round";
    for (const { motion, hue } of this.ghosts) {
      motion.at(motion.sign > 0 ? Math.min(t, motion.end) : Math.max(t, motion.end));
      Object.assign(context, { strokeStyle: stage.colours[hue], globalAlpha: 0.85, lineWidth: Math.max(1.6, 0.32 * stage.thickness) });
      context.beginPath();
      for (let i = 0; i <= motion.n; i++) context.lineTo(...stage.pixel(motion.x[i], motion.y[i]));
      context.stroke();
      drawDisc(context, stage.pixel(motion.x[motion.n], motion.y[motion.n]), 0.6 * context.lineWidth + 2, stage.colours[hue]);
      context.globalAlpha = 1;
    }
  }

  // A further plot over time above the others, made when first asked for. lines: [{ name, t, values, colour }], none: hide it.
  extra(name, lines) {
    if (!this.cards.has(name)) {
      const plot = new TimePlot(picture(name), (t) => this.seek(t)), { node, legend } = card(name, plot.canvas);
      node.classList.add("extra");
      this.panels.node.prepend(node);
      this.cards.set(name, { plot, legend, node });
    }
    const { plot, legend, node } = this.cards.get(name);
    node.hidden = !lines.length || !lines[0].t.length;
    if (node.hidden) return;
    legend.replaceChildren(...lines.map((line) => el("span", { class: `key ${line.colour}` }, line.name)));
    const ends = lines.map((line) => [line.t[0], line.t[line.t.length - 1]]).flat();
    plot.show(lines, { trusted: null, from: Math.min(...ends), to: Math.max(...ends) });
    this.request();
  }

  draw() {
    super.draw();
    for (const { plot, node } of this.cards?.values() ?? []) if (!node.hidden) plot.draw(this.t);
  }
}
