// The player in the studio: a motion that grows while it is computed, a chain under the hand, other motions over it, further plots.

import { Player } from "/web/player.js";
import { Motion } from "/web/motion.js";
import { SpaceMotion } from "/web/spacemotion.js";
import { SpacePlayer } from "/web/spaceplayer.js";
import { SpaceStage } from "/web/spacestage.js";
import { TimePlot } from "/web/plots.js";
import { clockDecimals } from "/web/axes.js";
import { card } from "/web/panels.js";
import { blend, css } from "/web/painter.js";
import { drawDisc, drawLine, el, picture } from "/web/dom.js";

export const HUES = ["second", "third", "fourth", "fifth", "warn", "muted", "ink"];
const EVERY = 120;
const LAG = 0.3;

// A start as the server tells it: angles and their rates, in space the rows of the links and theirs.
export function startOf({ chain, model, stand }) {
  return chain.space ? [stand.rows, stand.rates] : [model.start.theta, model.start.omega];
}

// Values and rates of a motion by their names in a take.
export function named(chain, values, rates) {
  return chain.space ? { rows: values, rates } : { theta: values, omega: rates };
}

// A single moment as the player takes it: a model in its start.
export function still(valid, title) {
  const { chain } = valid, [values, rates] = startOf(valid).map((each) => Float64Array.from(each));
  const take = { name: "", summary: "at the start", status: "", words: [], chain, t: Float64Array.of(0), ...named(chain, values, rates) };
  return { title, about: "", words: [], takes: [{ ...take, energy: null, events: [], trusted: null, step: 1 }] };
}

// Boxes of mechanisms: one grows with what it is given, and stays for the next run of the same bodies.
const boxes = new Map();
const AIR = 0.6;

function boxOf({ n, length, outline: { parent, levers, unit } }, swept, grows) {
  const key = JSON.stringify([n, length, parent, levers]), air = AIR * unit, padded = swept.map((side, k) => side + (k < 2 ? -air : air));
  const box = boxes.get(key) ?? padded;
  if (!grows && boxes.has(key)) return box;
  const grown = box.map((side, k) => (k < 2 ? Math.min(side, padded[k]) : Math.max(side, padded[k])));
  boxes.set(key, grown);
  return grown;
}

// The view has room for every pose, so that it stays where it is from one run to the next.
function widened(swept, chain, grows) {
  if (chain.outline) return { ...swept, box: boxOf(chain, swept.box, grows) };
  const { length, pin } = chain;
  const reach = length.reduce((sum, one) => sum + one, 0), half = pin ? 0.5 * (reach + Math.hypot(...pin)) : reach;
  const [x, y] = pin ? [pin[0] / 2, pin[1] / 2] : [0, 0];
  return { ...swept, box: [x - half, y - half, x + half, y + half] };
}

// The chain may reach any place in a ball about its pivot.
function around(swept, { length }) {
  const reach = length.reduce((sum, one) => sum + one, 0);
  return { ...swept, about: { x: 0, z: 0, radius: reach, low: -reach, high: reach, ball: true } };
}

// Motions of a kind whose view stays where it is from one run to the next.
const steady = (Moves, wide) => class extends Moves {
  path() {
    this.wide ??= wide(super.path(), this.chain, this.count > 1);
    return this.wide;
  }
};

// The last part of a motion of a kind that goes on: its trail, so many seconds long, has the points as they come.
const passing = (Moves, wide) => class extends Moves {
  path() {
    if (this.wide) return this.wide;
    const points = this.count, [x, y, z] = ["x", "y", "z"].map(() => new Float32Array(points)), first = this.t.findIndex((t) => t >= this.end - this.recent);
    for (let k = Math.max(0, first - 1); k < points; k++) [x[k], y[k], z[k]] = this.at(this.t[k]).traced();
    this.wide = wide({ x, y, z, points }, this.chain, true);
    return this.wide;
  }
};

// A player whose motions are of a kind; `wide` gives the view room for every pose.
const lively = (Base, Moves, wide, Held = steady(Moves, wide), Passing = passing(Moves, wide)) => class extends Base {
  constructor(root, content) {
    super(root, content, { header: false });
    this.setGhosts(content.others || []);
    Object.assign(this, { over: [], keys: [] });
    const paint = this.stage.paint.bind(this.stage);
    this.stage.paint = (context, width, height, t) => {
      this.lay();
      paint(context, width, height, t);
      this.drawGhosts?.(context, t);
      this.drawHand(context);
      for (const draw of this.over) draw(context);
    };
    this.cards = new Map();
  }

  motionOf({ chain, t, theta, omega, rows = theta, rates = omega }) {
    return new Held(chain, t, rows, rates);
  }

  // Keys of what is drawn over the stage come first.
  actions() {
    return Object.assign(super.actions(), ...this.keys.map((keys) => keys()));
  }

  // Go on with a motion that is longer; its links are where they are at once, for the pointer.
  adopt(motion) {
    const t = this.t;
    this.motion = motion;
    this.elapsed = Math.min(motion.span, Math.max(0, motion.sign * (t - motion.start)));
    motion.at(this.t);
    this.lay();
  }

  // Keys belong to the player that is seen, and not while a field is being typed into.
  key(event) {
    if (!this.root.offsetParent || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("form, [role=tablist], input:not([type=range]), select, textarea")) return;
    super.key(event);
  }

  // Show other content; with `hold` the time, the view and the playing stay.
  show(content, { hold = false } = {}) {
    const { elapsed, playing } = this, fitted = this.stage.fitted, camera = this.stage.kept();
    this.content = content;
    this.setGhosts(content.others || []);
    this.take(0);
    if (!hold) return;
    this.elapsed = Math.min(elapsed, this.motion.span);
    if (!fitted) Object.assign(this.stage, { fitted, camera });
    if (playing !== this.playing) this.setPlaying(playing);
  }

  // The motion has grown: go on from where it is.
  grow(take) {
    this.shown = this.content.takes[0] = take;
    this.adopt(this.motionOf(take));
    this.decimals = clockDecimals(this.motion.span);
    this.panels.show(take, this.motion, 0, this.link);
    this.tell();
    this.request();
  }

  // The last part of a motion that goes on without an end. Its plots follow a few times a second.
  follow(take) {
    const now = performance.now();
    this.shown = this.content.takes[0] = take;
    const { chain, t, theta, omega, rows = theta, rates = omega } = take;
    this.adopt(Object.assign(new Passing(chain, t, rows, rates), { recent: this.look.trail }));
    this.decimals = 2;
    if (this.motion.span - this.elapsed > LAG && this.playing) this.elapsed = this.motion.span;
    if (now - (this.plotted ?? 0) > EVERY) {
      this.plotted = now;
      this.panels.show(take, this.motion, 0, this.link);
      this.tell();
    }
    this.request();
  }

  // Show a chain with other values than those of the time: as it lies in the hand, or as it will start; null: as it moves.
  hold(theta, chain = this.shown.chain) {
    this.posed = theta && new Held(chain, Float64Array.of(0), Float64Array.from(theta), new Float64Array(theta.length)).at(0);
    this.lay();
    this.request();
  }

  // Room for the pose that is held, also when it is gone.
  widen() {
    this.posed.wide = wide(Moves.prototype.path.call(this.posed), this.posed.chain, true);
  }

  // What lies on the stage.
  lay() {
    const motion = this.posed || this.motion;
    this.stage.lay(motion);
  }

  // A line from the point that the hand holds to the hand: { link, along, left, x, y }, in space { link, along, x, y, z }, or null.
  pullBy(hand, linkage) {
    Object.assign(this, { hand, linkage });
    this.request();
  }

  drawHand(context) {
    const { stage, hand } = this;
    if (!hand) return;
    const [from, to] = this.pulled(hand);
    context.setLineDash([4, 4]);
    drawLine(context, from, to, stage.colours.accent, 1.8);
    context.setLineDash([]);
    drawDisc(context, from, 4, stage.colours.accent);
    drawDisc(context, to, 6, stage.colours.accent);
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
    const { chain } = this.content.takes[0];
    this.ghosts = others.map((other, k) => ({ name: other.name, hue: HUES[k % HUES.length], motion: super.motionOf({ chain, ...other }) }));
  }

  // A further plot over time, above the others or below them, made when first asked for. lines: [{ name, t, values, colour }], none:
  // hide it.
  extra(name, lines, { last = false } = {}) {
    if (!this.cards.has(name)) {
      const plot = new TimePlot(picture(name), (t) => this.seek(t)), { node, legend } = card(name, plot.canvas);
      node.classList.add("extra");
      this.panels.node[last ? "append" : "prepend"](node);
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
    if (this.posed) this.motion.at(this.t);  // for the plots; the stage shows the pose
    super.draw();
    for (const { plot, node } of this.cards?.values() ?? []) if (!node.hidden) plot.draw(this.t);
  }
};

// Put a motion to a time, or to its end.
function until(motion, t) {
  return motion.at(motion.sign > 0 ? Math.min(t, motion.end) : Math.max(t, motion.end));
}

export class LivePlayer extends lively(Player, Motion, widened) {
  // Where the hand pulls, and where it is, on the canvas.
  pulled(hand) {
    const { stage, linkage } = this, { x, y } = linkage.point(linkage.frames(stage.motion.angles), hand);
    return [stage.pixel(x, y), stage.pixel(hand.x, hand.y)];
  }

  drawGhosts(context, t) {
    const { stage } = this;
    context.lineJoin = context.lineCap = "round";
    for (const { motion, hue } of this.ghosts) {
      until(motion, t);
      Object.assign(context, { strokeStyle: stage.colours[hue], globalAlpha: 0.85, lineWidth: Math.max(1.6, 0.32 * stage.thickness) });
      context.beginPath();
      for (let i = 0; i <= motion.n; i++) context.lineTo(...stage.pixel(motion.x[i], motion.y[i]));
      context.stroke();
      drawDisc(context, stage.pixel(motion.x[motion.n], motion.y[motion.n]), 0.6 * context.lineWidth + 2, stage.colours[hue]);
      context.globalAlpha = 1;
    }
  }
}

// A stage in space with other motions among the links, each of their links in its place from behind to the front.
class GhostStage extends SpaceStage {
  trail() {
    return [...super.trail(), ...(this.ghosts ?? []).flatMap((ghost) => this.ghostly(ghost))];
  }

  // A link that lies in one of the chain is drawn over it.
  ghostly({ motion, hue }) {
    const { context, camera, colours, t } = this, { n, x, y, z } = until(motion, t), width = Math.max(1.6, 0.32 * this.thickness);
    const places = Array.from({ length: n + 1 }, (_, i) => { const [px, py, depth, size] = camera.place(x[i], y[i], z[i]); return [px, py, depth + this.radius, size]; });
    return places.slice(1).map((b, i) => ({
      a: places[i], b, half: width / 2, link: NaN,
      draw: () => {
        const colour = css(blend(colours[hue], colours.ground, this.fade(b[2])));
        drawLine(context, places[i], b, colour, width);
        if (i === n - 1) drawDisc(context, b, 0.6 * width + 2, colour);
      },
    }));
  }
}

export class LiveSpacePlayer extends lively(SpacePlayer, SpaceMotion, around) {
  pulled({ link, along, x, y, z }) {
    const { stage } = this;
    return [stage.pixel(...stage.motion.spot(link, along)), stage.pixel(x, y, z)];
  }

  stageOn(...given) {
    return new GhostStage(...given);
  }

  setGhosts(others) {
    super.setGhosts(others);
    this.stage.ghosts = this.ghosts;
  }
}
