// The stage: a model on a canvas, with its ground, trail, masses, springs and forces; zoom and pan.

import { linkColours, shade, tokens } from "./colours.js";
import { multiples, roundStep, tickText } from "./axes.js";
import { gestures } from "./gestures.js";
import { drawDisc, drawLine, sized } from "./dom.js";

const FADE = 24;
const CELLS = 8;
const SLACK = 0.8;
const SPRINGS = 40;
// Pixels of the upper left corner that the buttons of the stage cover.
const BUTTONS = [190, 52];
// As in strokes.py, in thicknesses of a bar: half the sides of a slider and of a point on a guide, and the other symbols.
const BLOCK = [1.4, 0.85], SMALL = [0.95, 0.6], HATCH = 0.7, COILS = 9, COIL = 0.55, MOTOR = 0.45, PLATE = 0.35;

// The outline of a chain, like that of a mechanism: numbers of points.
function lineOf({ n, pin }) {
  const shapes = Array.from({ length: n }, (_, i) => [i, i + 1]);
  return { shapes, hinges: [...Array(pin ? n + 1 : n).keys()], blocks: [], bars: [], springs: [], driven: [] };
}

export class Stage {
  // look: { trail (s, Infinity: all), hinges, centres, forces, colours: "link" | "rate" | "plain", style: "bar" | "line" }
  constructor(canvas, look, changed) {
    Object.assign(this, { canvas, look, changed, picked: -1 });
    this.camera = { scale: 1, x: 0, y: 0 };
    this.anchor = [0, 0];
    this.fitted = true;
    gestures(canvas, {
      pan: (...drag) => this.pan(...drag),
      zoom: (factor, x, y) => this.zoom(factor, x, y),
      tap: (x, y) => this.tap(x, y),
      fit: () => this.doubled(),
      free: () => this.free(),
    });
  }

  show(motion) {
    this.lay(motion);
    this.fit();
  }

  // What is drawn.
  lay(motion) {
    Object.assign(this, { motion, chain: motion.chain, outline: motion.chain.outline || lineOf(motion.chain) });
  }

  // The view as it is, to come back to.
  kept() {
    return { ...this.camera };
  }

  fit() {
    this.fitted = true;
    this.changed?.();
  }

  doubled() {
    this.fit();
  }

  // Whether one finger moves the picture, not the page.
  free() {
    return !this.fitted;
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
    const { shapes, blocks } = this.outline, edges = shapes.flatMap((shape, i) => shape.map((p, k) => [i, p, shape[(k + 1) % shape.length]]));
    for (const [i, a, b] of [...edges, ...blocks.filter((block) => block[4] >= 0).map(([p, , , , i]) => [i, p, p])]) {
      const [ax, ay] = this.point(a), [bx, by] = this.point(b);
      const dx = bx - ax, dy = by - ay, share = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
      const distance = Math.hypot(x - ax - share * dx, y - ay - share * dy);
      if (distance < nearest) [nearest, found] = [distance, i];
    }
    return found;
  }

  // Fit the swept box, below the buttons if they would hide a pivot.
  place(width, height) {
    const whole = this.placed(width, height, 0), grounds = this.grounds().map(([x, y]) => [width / 2 + (x - whole.x) * whole.scale, height / 2 - (y - whole.y) * whole.scale]);
    const camera = grounds.some(([x, y]) => x < BUTTONS[0] && y < BUTTONS[1]) ? this.placed(width, height, BUTTONS[1]) : whole;
    this.home = camera.scale;
    if (this.fitted) this.camera = camera;
  }

  // Where the camera shows the swept box below `top` pixels; the pivot stands in the middle unless that shrinks the picture too much.
  placed(width, height, top) {
    const { box } = this.motion.path(), grounds = this.grounds();
    const arrows = this.look.forces && this.arrows().length ? 0.1 : 0, sliders = this.outline.blocks.length ? 14 : 0;
    const pad = Math.max(22, (0.05 + arrows) * Math.min(width, height)) + sliders, room = [width - 2 * pad, height - 2 * pad - top];
    const centre = grounds.length ? grounds.reduce((sum, ground) => sum + ground[0], 0) / grounds.length : (box[0] + box[2]) / 2, reach = Math.max(centre - box[0], box[2] - centre);
    const scaleOf = (wide, high) => Math.min(wide > 0 ? room[0] / wide : Infinity, high > 0 ? room[1] / high : Infinity);
    const tight = scaleOf(box[2] - box[0], box[3] - box[1]), even = scaleOf(2 * reach, box[3] - box[1]);
    const middle = even >= SLACK * tight, scale = Math.max(1e-12, middle ? even : tight);
    return { scale, x: middle ? centre : (box[0] + box[2]) / 2, y: (box[1] + box[3] + top / scale) / 2 };
  }

  pixel(x, y) {
    const { camera, anchor } = this;
    return [this.width / 2 + (x - anchor[0] - camera.x) * camera.scale, this.height / 2 - (y - anchor[1] - camera.y) * camera.scale];
  }

  // A point of the outline on the canvas.
  point(p) {
    return this.pixel(this.motion.x[p], this.motion.y[p]);
  }

  grounds() {
    return this.outline.grounds || [[0, 0], ...(this.chain.pin ? [this.chain.pin] : [])];
  }

  // The point of the plane at a place of the canvas.
  world([px, py]) {
    const { camera, anchor } = this;
    return [anchor[0] + camera.x + (px - this.width / 2) / camera.scale, anchor[1] + camera.y - (py - this.height / 2) / camera.scale];
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
    this.anchor = this.motion.anchor();
    const mean = this.outline.unit || this.chain.length.reduce((sum, length) => sum + length, 0) / this.chain.n;
    this.thickness = Math.min(0.03 * Math.min(width, height) * Math.max(1, this.camera.scale / this.home),
      Math.max(2.2, 0.17 * mean * this.camera.scale), 40);
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, width, height);
    this.drawGrid();
    for (const ground of this.grounds()) this.drawGround(...this.pixel(...ground));
    for (const block of this.outline.blocks) if (block[3] < 0) this.drawRail(block);
    this.drawTrail();
    this.drawSprings();
    this.drawLinks();
    this.drawMasses();
    this.drawForces();
  }

  drawGrid() {
    const { context, width, height, camera, colours } = this;
    const step = roundStep(Math.min(width, height) / CELLS / camera.scale), [left, low] = this.world([0, height]);
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

  // The bodies from behind to the front, and what joins them.
  drawLinks() {
    const { context, look, outline, thickness, colours } = this, thin = look.style === "line";
    context.lineCap = "round";
    for (const [a, b] of outline.bars) drawLine(context, this.point(a), this.point(b), colours.muted, Math.max(1.5, 0.4 * thickness));
    const blocks = Object.fromEntries(outline.blocks.map((block) => [block[4], block]));
    outline.shapes.forEach((shape, i) => (shape.length ? this.drawShape(shape, i, thin) : blocks[i] && this.drawBlock(blocks[i], thin)));
    for (const block of outline.blocks) if (block[4] < 0) this.drawBlock(block, thin);
    for (const [a, b] of outline.springs) this.drawCoil(this.point(a), this.point(b));
    for (const p of outline.driven) drawDisc(context, this.point(p), MOTOR * thickness, colours.accent);
    if (look.hinges) outline.hinges.forEach((p) => this.drawHinge(p, thin));
  }

  // A bar or a plate.
  drawShape(shape, i, thin) {
    const { motion, chain, thickness, colours } = this, corners = shape.map((p) => this.point(p)), plate = shape.length > 2;
    const width = thin ? 2 : (chain.point[i] ? Math.max(1.8, 0.42 * thickness) : thickness) * (plate ? 0.6 : 1);
    if (plate) corners.push(corners[0]);
    if (!thin && width > 3) this.drawStroke(corners, colours.ground, width + Math.min(2.4, 0.25 * width), plate);
    if (i === this.picked && motion.n > 1) this.drawStroke(corners, colours.ink, width + 3);
    this.drawStroke(corners, this.colour(i), width, plate && !thin ? PLATE : 0);
  }

  // A line through pixels, filled with a share of its colour.
  drawStroke(points, colour, width, share = 0) {
    const { context } = this;
    Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: width, lineJoin: "round" });
    context.beginPath();
    for (const point of points) context.lineTo(...point);
    context.globalAlpha = share;
    if (share) context.fill();
    context.globalAlpha = 1;
    context.stroke();
  }

  drawHinge(p, thin) {
    const { outline, chain, motion, colours } = this, solid = thin || chain.point[outline.points ? outline.points[p][0] : Math.min(p, motion.n - 1)];
    const radius = thin ? 2.8 : (solid ? 0.3 : 0.24) * this.thickness;
    if (radius >= 1) drawDisc(this.context, this.point(p), radius, solid ? colours.ink : colours.ground);
  }

  // The length of a rail in pixels, and where (along, aside) from its first end or from a pixel is; aside is down, or left.
  railOf([, a, b]) {
    const first = this.point(a), [x, y] = this.point(b), size = Math.hypot(x - first[0], y - first[1]) || 1, u = (x - first[0]) / size, v = (y - first[1]) / size;
    const turn = u > 1e-9 || (u > -1e-9 && v > 0) ? 1 : -1;
    return { size, at: (along, aside, from = first) => [from[0] + along * u - aside * turn * v, from[1] + along * v + aside * turn * u] };
  }

  drawRail(block) {
    const { context, thickness, colours } = this, { size, at } = this.railOf(block), half = (block[4] < 0 ? SMALL : BLOCK)[1] * thickness, step = HATCH * thickness;
    drawLine(context, at(0, half), at(size, half), colours.muted, 1.5);
    for (let x = step; x < size; x += step) drawLine(context, at(x, half), at(x - step, half + step), colours.muted, 1);
  }

  // The rectangle of a slider in pixels, closed.
  cornersOf(block) {
    const { at } = this.railOf(block), [long, high] = (block[4] < 0 ? SMALL : BLOCK).map((half) => half * this.thickness);
    return [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]].map(([x, y]) => at(x * long, y * high, this.point(block[0])));
  }

  // A slider, or a point on a guide; on the rail of a body that too, as a slot.
  drawBlock(block, thin) {
    const { thickness, colours } = this, [, a, b, owner, body] = block, corners = this.cornersOf(block);
    const slot = thin ? [[colours.muted, 1]] : [[colours.ground, 0.62], [this.colour(owner), 0.5], [colours.ground, 0.24]].map(([colour, width]) => [colour, width * thickness]);
    if (owner >= 0) for (const [colour, width] of slot) this.drawStroke([this.point(a), this.point(b)], colour, width);
    this.drawStroke(corners, body >= 0 && body === this.picked ? colours.ink : colours.ground, 4, 1);
    this.drawStroke(corners, body < 0 ? colours.muted : this.colour(body), thin ? 2 : 1, thin ? 0 : 1);
  }

  // A spring: a zig-zag with straight ends.
  drawCoil([x, y], [ex, ey]) {
    const dx = ex - x, dy = ey - y, out = (COIL * this.thickness) / (Math.hypot(dx, dy) || 1), at = (share, side) => [x + share * dx - side * out * dy, y + share * dy + side * out * dx];
    const turns = Array.from({ length: COILS }, (_, k) => at(0.15 + (0.7 * (k + 0.5)) / COILS, k % 2 ? 1 : -1)), coil = [at(0, 0), at(0.15, 0), ...turns, at(0.85, 0), at(1, 0)];
    this.drawStroke(coil, this.colours.ground, 4);
    this.drawStroke(coil, this.colours.muted, 1.6);
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
      if (!look.centres || !(chain.mass[i] > 0)) continue;
      const foot = motion.spot(i, Math.min(chain.length[i], Math.max(0, chain.com[i])), 0);
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
      if (!chain.spring[i] || motion.slides(i)) continue;
      const parent = chain.outline ? chain.outline.parent[i] : i - 1;
      const from = (parent < 0 ? 0 : motion.turned[parent]) + chain.rest[i], to = motion.angles[i], turns = Math.ceil(Math.abs(to - from) / 0.1) || 1;
      const [x, y] = this.pixel(motion.ox[i], motion.oy[i]);
      context.beginPath();
      for (let k = 0; k <= Math.min(turns, 1000); k++) {
        const share = k / Math.min(turns, 1000), angle = from + (to - from) * share;
        const radius = 1.5 * this.thickness + 5 + 1.4 * Math.min(3, Math.abs(to - from) / 6.3) * share * 3;
        context.lineTo(x + radius * Math.sin(angle), y + radius * Math.cos(angle));
      }
      context.stroke();
    }
  }

  // Forces: [body, along, left, fx, fy], or what presses along the body in place of fx, fy.
  arrows() {
    const { tip, follower, outline, n, length } = this.chain;
    if (outline) return outline.arrows;
    const end = [n - 1, length[n - 1], 0];
    return [...(tip ? [[...end, ...tip]] : []), ...(follower ? [[...end, follower]] : [])];
  }

  drawForces() {
    const { motion, look } = this;
    for (const [body, along, left, fx, fy] of look.forces ? this.arrows() : []) {
      const at = this.pixel(...motion.spot(body, along, left)), angle = motion.turned[body];
      if (fy === undefined) this.arrow(at, -fx * Math.sin(angle), fx * Math.cos(angle), fx > 0);
      else this.arrow(at, fx, fy, false);
    }
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
