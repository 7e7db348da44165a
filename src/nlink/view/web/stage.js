// The stage: a chain on a canvas, with its ground, trail, masses, springs and forces; zoom and pan.

import { linkColours, shade, tokens } from "./colours.js";
import { multiples, roundStep, tickText } from "./axes.js";
import { gestures } from "./gestures.js";
import { drawDisc, drawLine, sized } from "./dom.js";

const FADE = 24;
const CELLS = 8;
const SLACK = 0.8;
const SPRINGS = 40;

export class Stage {
  // look: { trail (s, Infinity: all), hinges, centres, forces, colours: "link" | "rate" | "plain", style: "bar" | "line" }
  constructor(canvas, look, changed) {
    Object.assign(this, { canvas, look, changed, picked: -1 });
    this.camera = { scale: 1, x: 0, y: 0 };
    this.fitted = true;
    gestures(canvas, {
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (factor, x, y) => this.zoom(factor, x, y),
      tap: (x, y) => this.tap(x, y),
      fit: () => this.fit(),
      free: () => !this.fitted,
    });
  }

  show(motion) {
    this.lay(motion);
    this.fit();
  }

  // What is drawn.
  lay(motion) {
    Object.assign(this, { motion, chain: motion.chain });
  }

  fit() {
    this.fitted = true;
    this.changed?.();
  }

  pan(dx, dy) {
    this.camera.x -= dx / this.camera.scale;
    this.camera.y += dy / this.camera.scale;
    this.fitted = false;
    this.changed?.();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const { camera } = this, dx = x - this.canvas.clientWidth / 2, dy = y - this.canvas.clientHeight / 2;
    const scale = Math.min(this.home * 400, Math.max(this.home / 20, camera.scale * factor));
    camera.x += dx / camera.scale - dx / scale;
    camera.y -= dy / camera.scale - dy / scale;
    camera.scale = scale;
    this.fitted = false;
    this.changed?.();
  }

  // Choose the link nearest to a point of the canvas.
  tap(x, y) {
    const found = this.linkAt(x, y);
    if (found >= 0) this.chosen?.(found);
  }

  // The link nearest to a point of the canvas; -1 if none is within so many pixels.
  linkAt(x, y, within = 24) {
    const { motion } = this;
    let nearest = within, found = -1;
    for (let i = 0; i < motion.n; i++) {
      const [ax, ay] = this.pixel(motion.x[i], motion.y[i]), [bx, by] = this.pixel(motion.x[i + 1], motion.y[i + 1]);
      const dx = bx - ax, dy = by - ay, share = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
      const distance = Math.hypot(x - ax - share * dx, y - ay - share * dy);
      if (distance < nearest) [nearest, found] = [distance, i];
    }
    return found;
  }

  // Fit the swept box; the pivot stands in the middle unless that shrinks the picture too much.
  place(width, height) {
    const { box } = this.motion.path(), pin = this.chain.pin;
    const arrows = this.look.forces && (this.chain.tip || this.chain.follower) ? 0.1 : 0;
    const pad = Math.max(22, (0.05 + arrows) * Math.min(width, height)), room = [width - 2 * pad, height - 2 * pad];
    const centre = pin ? pin[0] / 2 : 0, reach = Math.max(centre - box[0], box[2] - centre);
    const scaleOf = (wide, high) => Math.min(wide > 0 ? room[0] / wide : Infinity, high > 0 ? room[1] / high : Infinity);
    const tight = scaleOf(box[2] - box[0], box[3] - box[1]), even = scaleOf(2 * reach, box[3] - box[1]);
    const middle = even >= SLACK * tight;
    this.home = Math.max(1e-12, middle ? even : tight);
    if (this.fitted) this.camera = { scale: this.home, x: middle ? centre : (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2 };
  }

  pixel(x, y) {
    const { camera } = this;
    return [this.width / 2 + (x - camera.x) * camera.scale, this.height / 2 - (y - camera.y) * camera.scale];
  }

  // The point of the plane at a place of the canvas.
  world([px, py]) {
    const { camera } = this;
    return [camera.x + (px - this.width / 2) / camera.scale, camera.y - (py - this.height / 2) / camera.scale];
  }

  draw(t) {
    if (!this.motion) return;
    const { context, width, height } = sized(this.canvas);
    this.paint(context, width, height, t);
  }

  paint(context, width, height, t) {
    const colours = tokens();
    if (this.colours !== colours || this.palette.length !== this.chain.n) this.palette = linkColours(this.chain.n, colours.dark);
    Object.assign(this, { context, width, height, t, colours });
    this.place(width, height);
    this.motion.at(t);
    const mean = this.chain.length.reduce((sum, length) => sum + length, 0) / this.chain.n;
    this.thickness = Math.min(0.03 * Math.min(width, height) * Math.max(1, this.camera.scale / this.home),
      Math.max(2.2, 0.17 * mean * this.camera.scale), 40);
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, width, height);
    this.drawGrid();
    for (const ground of this.chain.pin ? [[0, 0], this.chain.pin] : [[0, 0]]) this.drawGround(...this.pixel(...ground));
    this.drawTrail();
    this.drawSprings();
    this.drawLinks();
    this.drawMasses();
    this.drawForces();
  }

  drawGrid() {
    const { context, width, height, camera, colours } = this;
    const step = roundStep(Math.min(width, height) / CELLS / camera.scale);
    const left = camera.x - width / 2 / camera.scale, low = camera.y - height / 2 / camera.scale;
    const across = multiples(left, left + width / camera.scale, step), up = multiples(low, low + height / camera.scale, step);
    const crisp = (pixel) => Math.floor(pixel) + 0.5, every = Math.ceil(46 / (step * camera.scale));
    for (const px of across.map((x) => crisp(this.pixel(x, 0)[0]))) drawLine(context, [px, 0], [px, height], colours.lines, 1);
    for (const py of up.map((y) => crisp(this.pixel(0, y)[1]))) drawLine(context, [0, py], [width, py], colours.lines, 1);
    Object.assign(context, { fillStyle: colours.muted, font: `11px ${colours.font}`, textAlign: "center", textBaseline: "alphabetic" });
    for (const x of across) {
      const px = this.pixel(x, 0)[0];
      if (px > 46 && px < width - 30 && Math.round(x / step) % every === 0) context.fillText(tickText(x, step), px, height - 7);
    }
    context.textAlign = "left";
    for (const y of up) {
      const py = this.pixel(0, y)[1];
      if (py > 66 && py < height - 26) context.fillText(tickText(y, step), 8, py - 4);
    }
    context.fillText("m", 8, height - 7);
  }

  // A line with hatching above it: what a pivot or a pin is fixed to.
  drawGround(x, y) {
    const { context } = this, half = Math.max(11, 1.8 * this.thickness), hatch = 0.42 * half;
    drawLine(context, [x - half, y], [x + half, y], this.colours.muted, 1.5);
    context.lineWidth = 1;
    context.beginPath();
    for (let k = 0; k < 6; k++) {
      const from = x - half + (k * (2 * half - hatch)) / 5;
      context.moveTo(from, y);
      context.lineTo(from + hatch, y - hatch);
    }
    context.stroke();
  }

  drawTrail() {
    const { context, motion, look } = this;
    if (!(look.trail > 0) || !motion.span) return;
    const { x, y, points } = motion.path(), now = (Math.abs(this.t - motion.start) / motion.span) * (points - 1);
    const oldest = Math.max(0, now - (look.trail / motion.span) * (points - 1)), last = Math.floor(now);
    const faded = Number.isFinite(look.trail);
    Object.assign(context, { strokeStyle: this.colours.accent, lineJoin: "round", lineCap: "butt" });
    for (let part = 0; part < FADE; part++) {
      const from = Math.ceil(oldest + ((now - oldest) * part) / FADE), to = Math.floor(oldest + ((now - oldest) * (part + 1)) / FADE);
      context.globalAlpha = faded ? 0.9 * ((part + 1) / FADE) ** 1.3 : 0.35 + (0.55 * (part + 1)) / FADE;
      context.lineWidth = faded ? 1 + (1.2 * (part + 1)) / FADE : 1.2;
      context.beginPath();
      context.moveTo(...this.pixel(x[Math.max(0, from - 1)], y[Math.max(0, from - 1)]));
      for (let k = from; k <= Math.min(to, last); k++) context.lineTo(...this.pixel(x[k], y[k]));
      if (part === FADE - 1) context.lineTo(...this.pixel(...motion.traced()));
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  colour(i) {
    if (this.look.colours === "plain") return this.colours.second;
    if (this.look.colours === "rate") return shade(Math.sqrt(Math.abs(this.motion.rates[i]) / (this.motion.fastest() || 1)), this.colours.dark);
    return this.palette[i];
  }

  drawLinks() {
    const { context, motion, chain, look, thickness } = this, thin = look.style === "line";
    context.lineCap = "round";
    let before = this.pixel(0, 0);
    for (let i = 0; i < motion.n; i++) {
      const after = this.pixel(motion.x[i + 1], motion.y[i + 1]);
      const width = thin ? 2 : chain.point[i] ? Math.max(1.8, 0.42 * thickness) : thickness;
      if (!thin && width > 3) drawLine(context, before, after, this.colours.ground, width + Math.min(2.4, 0.25 * width));
      if (i === this.picked && motion.n > 1) drawLine(context, before, after, this.colours.ink, width + 3);
      drawLine(context, before, after, this.colour(i), width);
      before = after;
    }
    if (!look.hinges) return;
    for (let i = 0; i < motion.n + (chain.pin ? 1 : 0); i++) {
      const solid = thin || chain.point[Math.min(i, motion.n - 1)], radius = thin ? 2.8 : (solid ? 0.3 : 0.24) * thickness;
      if (radius >= 1) drawDisc(context, this.pixel(motion.x[i], motion.y[i]), radius, solid ? this.colours.ink : this.colours.ground);
    }
  }

  // Point masses as discs whose area goes with the mass; other centres of mass, if asked for, as rings beside their links.
  drawMasses() {
    const { context, motion, chain, look } = this, most = chain.mass.reduce((a, b) => Math.max(a, b), 0) || 1;
    for (let i = 0; i < motion.n; i++) {
      const at = chain.point[i] || look.centres ? this.pixel(...motion.centre(i)) : null;
      if (chain.point[i] && chain.mass[i] > 0) {
        const radius = Math.max(2, 0.85 * this.thickness * Math.sqrt(chain.mass[i] / most));
        drawDisc(context, at, radius + Math.min(1.6, 0.2 * radius), this.colours.ground);
        drawDisc(context, at, radius, this.colour(i));
      }
      if (!look.centres) continue;
      const along = Math.min(1, Math.max(0, chain.com[i] / chain.length[i]));
      const foot = [0, 1].map((k) => [motion.x, motion.y][k][i] * (1 - along) + [motion.x, motion.y][k][i + 1] * along);
      drawLine(context, this.pixel(...foot), at, this.colours.ink, 1.2);
      drawDisc(context, at, Math.max(2.4, 0.3 * this.thickness), this.colours.ink);
      drawDisc(context, at, Math.max(1.2, 0.16 * this.thickness), this.colours.ground);
    }
  }

  // A torsion spring: an arc from where the link before points to where the link points.
  drawSprings() {
    const { context, motion, chain } = this;
    if (!chain.spring || !this.look.forces || motion.n > SPRINGS) return;
    Object.assign(context, { strokeStyle: this.colours.muted, lineWidth: 1.4 });
    for (let i = 0; i < motion.n; i++) {
      if (!chain.spring[i]) continue;
      const from = (i ? motion.angles[i - 1] : 0) + chain.rest[i], to = motion.angles[i], turns = Math.ceil(Math.abs(to - from) / 0.1) || 1;
      const [x, y] = this.pixel(motion.x[i], motion.y[i]);
      context.beginPath();
      for (let k = 0; k <= Math.min(turns, 1000); k++) {
        const share = k / Math.min(turns, 1000), angle = from + (to - from) * share;
        const radius = 1.5 * this.thickness + 5 + 1.4 * Math.min(3, Math.abs(to - from) / 6.3) * share * 3;
        context.lineTo(x + radius * Math.sin(angle), y + radius * Math.cos(angle));
      }
      context.stroke();
    }
  }

  drawForces() {
    const { motion, chain, look } = this, n = motion.n;
    if (!look.forces) return;
    const tip = this.pixel(motion.x[n], motion.y[n]), angle = motion.angles[n - 1];
    if (chain.tip) this.arrow(tip, chain.tip[0], chain.tip[1], false);
    if (chain.follower) this.arrow(tip, -chain.follower * Math.sin(angle), chain.follower * Math.cos(angle), chain.follower > 0);
  }

  // An arrow along (fx, fy): away from the point, or onto it.
  arrow([x, y], fx, fy, onto) {
    const { context } = this, size = Math.hypot(fx, fy), long = Math.max(34, 0.09 * Math.min(this.width, this.height));
    if (!size) return;
    const ux = fx / size, uy = -fy / size, gap = 0.5 * this.thickness + 4;
    const [bx, by] = onto ? [x - ux * (gap + long), y - uy * (gap + long)] : [x + ux * gap, y + uy * gap];
    const [ex, ey] = [bx + ux * long, by + uy * long];
    drawLine(context, [bx, by], [ex - 6 * ux, ey - 6 * uy], this.colours.accent, 2.2);
    context.fillStyle = this.colours.accent;
    context.beginPath();
    context.moveTo(ex, ey);
    context.lineTo(ex - 11 * ux - 5 * uy, ey - 11 * uy + 5 * ux);
    context.lineTo(ex - 11 * ux + 5 * uy, ey - 11 * uy - 5 * ux);
    context.fill();
  }

  // The frame as a picture of its own, twice as fine, with the title and the time.
  picture(t, title, clock) {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, ratio = Math.max(2, window.devicePixelRatio || 1);
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    context.scale(ratio, ratio);
    this.paint(context, width, height, t);
    Object.assign(context, { font: `600 15px ${this.colours.font}`, textBaseline: "middle", textAlign: "right", fillStyle: this.colours.ink });
    context.fillText(clock, width - 14, 22);
    const room = width - context.measureText(clock).width - 44;
    Object.assign(context, { textAlign: "left", fillStyle: this.colours.muted });
    context.fillText(cutText(context, title, room), 14, 22);
    return canvas;
  }
}

function cutText(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}\u2026`).width > room) length--;
  return `${text.slice(0, length).trimEnd()}\u2026`;
}
