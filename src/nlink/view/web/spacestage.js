// The stage in space: a floor with the shadow of the chain, the chain and its trail from behind to the front, seen by an orbit camera.

import { Stage } from "./stage.js";
import { OrbitCamera } from "./orbit.js";
import { BALL, ball, bar, blend, css, hull, ordered, polygon } from "./painter.js";
import { drawSolid, meshOf, sidesFor, stripeOf } from "./solids.js";
import { turned } from "./spacemotion.js";
import { drawDisc, drawLine } from "./dom.js";
import { linkColours, tokens } from "./colours.js";
import { roundStep, valueText } from "./axes.js";

const TURN = 0.008;
const PIECES = 160;
const PALE = 0.5;
const HAZES = 12;
const TILES = 15;
const STEEP = 0.15;
const BASE = 52, ARM = 24;

export class SpaceStage extends Stage {
  constructor(...given) {
    super(...given);
    this.camera = new OrbitCamera();
  }

  lay(motion) {
    if (motion.chain !== this.chain) this.meshes = motion.chain.solids.map(() => null);
    super.lay(motion);
  }

  // Drag turns; with Shift or two fingers it moves.
  pan(dx, dy, moves) {
    if (moves) {
      this.camera.shift(dx, dy);
      this.fitted = false;
    } else this.camera.turn(TURN * dx, TURN * dy);
    this.changed?.();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    this.camera.closer(factor, x, y);
    this.fitted = false;
    this.changed?.();
  }

  kept() {
    return Object.assign(new OrbitCamera(), this.camera);
  }

  fit() {
    this.camera?.home?.();
    super.fit();
  }

  // Look from another side.
  from(azimuth, elevation) {
    this.camera.look(azimuth, elevation);
    this.changed?.();
  }

  // A double click looks from the front.
  doubled() {
    this.camera.front();
    this.fit();
  }

  free() {
    return true;
  }

  place(width, height) {
    const { about } = this.motion.path(), pad = Math.max(24, 0.05 * Math.min(width, height));
    this.camera.fit(about, [pad, pad + 18, width - pad, height - pad - 14]);
    this.about = about;
    this.floor = about.low - 0.04 * (about.high - about.low) - 0.01 * about.radius;
  }

  pixel(x, y, z) {
    return this.camera.place(x, y, z);
  }

  point(p) {
    const { x, y, z } = this.motion;
    return this.camera.place(x[p], y[p], z[p]);
  }

  // The point in space at a place of the canvas, as deep as a hinge.
  world(place, p) {
    return this.camera.point(place, this.point(p));
  }

  paint(context, width, height, t) {
    const colours = tokens();
    if (this.colours !== colours || this.palette.length !== this.chain.n) this.palette = linkColours(this.chain.n, colours.dark);
    Object.assign(this, { context, width, height, t, colours });
    this.place(width, height);
    this.motion.at(t);
    this.measure();
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    Object.assign(context, { lineCap: "round", lineJoin: "round" });
    const above = this.camera.back[1] * this.camera.eye > this.floor - this.camera.middle[1];
    this.drawFloor();
    if (above) this.drawShadow();
    this.drawPivot();
    const drawn = new Uint8Array(this.chain.n), items = [...this.links(drawn), ...this.trail()];
    for (const item of this.order(items)) item.draw();
    this.drawForces();
    this.drawAxes();
  }

  order(items) {
    return ordered(items);
  }

  // How thick a link is, in m and about in pixels.
  measure() {
    const { chain, width, height, camera } = this, usual = camera.focus / camera.eye, side = Math.min(width, height);
    const mean = chain.length.reduce((sum, length) => sum + length, 0) / chain.n;
    const pixels = Math.min(0.028 * side, Math.max(2.6, 0.13 * mean * usual));
    this.radius = (0.5 * pixels) / usual;
    this.thickness = pixels * camera.zoom;
    chain.solids.forEach((solid, i) => {
      const sides = solid && sidesFor(solid.side * usual * camera.zoom);
      if (solid && (this.meshes[i]?.sides ?? 0) !== sides) this.meshes[i] = sides ? meshOf(solid, sides) : null;
    });
  }

  // The share of the ground's colour that something so near to the eye has.
  fade(depth) {
    return PALE * Math.min(1, Math.max(0, 0.5 - depth / (2 * this.camera.reach)));
  }

  drawFloor() {
    const { context, camera, about, floor, colours } = this, { x, z, radius, low, high } = about;
    const reach = Math.max(1.35 * radius, 0.5 * (high - low)), step = roundStep((2 * reach) / TILES), count = Math.floor(reach / step);
    const levels = Array.from({ length: HAZES }, () => []);
    for (let k = -count; k <= count; k++) {
      for (let j = -count - 1; j <= count; j++) {
        const far = Math.hypot(k, j + 0.5) * step;
        if (far < reach) levels[Math.floor((HAZES * far) / reach)].push([k * step, j * step]);
      }
    }
    levels.forEach((pieces, level) => {
      context.strokeStyle = css(blend(blend(colours.lines, colours.muted, 0.35), colours.ground, (level / HAZES) ** 1.5));
      context.lineWidth = 1;
      context.beginPath();
      for (const [u, v] of pieces) for (const across of [true, false]) {
        const [a, b] = [v, v + step].map((w) => (across ? camera.place(x + u, floor, z + w) : camera.place(x + w, floor, z + u)));
        context.moveTo(a[0], a[1]);
        context.lineTo(b[0], b[1]);
      }
      context.stroke();
    });
    Object.assign(context, { fillStyle: colours.muted, font: `11px ${colours.font}`, textAlign: "left", textBaseline: "alphabetic" });
    context.fillText(`grid ${valueText(step, 3)} m`, 10, this.height - 9);
  }

  drawShadow() {
    const { context, camera, motion, floor, colours, chain } = this, dark = css(blend(colours.ground, colours.dark ? [0, 0, 0] : colours.ink, colours.dark ? 0.5 : 0.2));
    Object.assign(context, { strokeStyle: dark, lineWidth: Math.max(1.5, 0.9 * this.thickness) });
    context.beginPath();
    for (let i = 0; i <= chain.n; i++) {
      const [px, py] = camera.place(motion.x[i], floor, motion.z[i]);
      context.lineTo(px, py);
    }
    context.stroke();
    for (let i = 0; i < chain.n; i++) {
      if (this.meshes[i]) {
        const below = this.meshes[i].points.slice(0, this.meshes[i].corners).map((point) => { const [x, , z] = motion.inBody(i, point); return camera.place(x, floor, z); });
        polygon(context, hull(below), dark);
      } else if (chain.point[i]) {
        const [x, , z] = motion.centre(i), [px, py, , size] = camera.place(x, floor, z), r = this.ballOf(i) * size;
        context.fillStyle = dark;
        context.beginPath();
        context.ellipse(px, py, r, Math.max(1, r * Math.abs(camera.back[1])), 0, 0, 7);
        context.fill();
      }
    }
  }

  // What the pivot is fixed to: a round plate.
  drawPivot() {
    const { context, camera, colours } = this, r = 2.3 * this.radius, rim = Array.from({ length: 24 }, (_, k) => camera.place(r * Math.cos((Math.PI * k) / 12), 0, r * Math.sin((Math.PI * k) / 12)));
    context.strokeStyle = colours.muted;
    context.lineWidth = 1.5;
    polygon(context, rim, css(blend(colours.ground, colours.muted, 0.3)));
    context.stroke();
  }

  trail() {
    const { context, motion, look, colours, camera } = this;
    if (!(look.trail > 0) || !motion.span) return [];
    const { x, y, z, points } = motion.path(), now = (Math.abs(this.t - motion.start) / motion.span) * (points - 1);
    const oldest = Math.max(0, now - (look.trail / motion.span) * (points - 1)), faded = Number.isFinite(look.trail), items = [];
    const last = Math.floor(now), from = Math.ceil(oldest), stride = Math.max(1, Math.ceil((last - from) / PIECES)), end = camera.place(...motion.traced());
    let before = null;
    for (let k = from; k <= last; k += stride) {
      const piece = before ? [before] : [];
      for (let j = Math.max(from, k - stride + 1); j <= k; j++) piece.push(camera.place(x[j], y[j], z[j]));
      if (k + stride > last) {
        for (let j = k + 1; j <= last; j++) piece.push(camera.place(x[j], y[j], z[j]));
        piece.push(end);
      }
      before = piece[piece.length - 1];
      if (piece.length < 2) continue;
      const share = (k - oldest) / Math.max(1, now - oldest), strength = (faded ? 0.95 * share ** 1.2 : 0.4 + 0.55 * share) * (1 - this.fade(before[2]));
      items.push({
        a: piece[0], b: before, half: 1, link: NaN,
        draw: () => {
          Object.assign(context, { strokeStyle: css(blend(colours.ground, colours.accent, strength)), lineWidth: faded ? 1 + 1.3 * share : 1.3 });
          context.beginPath();
          for (const [px, py] of piece) context.lineTo(px, py);
          context.stroke();
        },
      });
    }
    return items;
  }

  // The bodies as items; a hinge is drawn behind the later one of its two.
  links(drawn) {
    const { chain, motion, look } = this, items = [], places = Array.from({ length: chain.n + 1 }, (_, p) => this.point(p));
    const thin = look.style === "line";
    for (let i = 0; i < chain.n; i++) {
      const [a, b] = [places[i], places[i + 1]], colour = this.shown(i, (a[2] + b[2]) / 2), done = () => this.drawJoints(i, places, drawn, thin);
      if (this.meshes[i]) items.push(this.solid(i, a, b, colour, done));
      else {
        const radius = (thin ? 0.35 : chain.point[i] ? 0.5 : 1) * this.radius;
        items.push({ a, b, half: radius * (a[3] + b[3]) / 2, link: i, draw: () => { this.stick(a, b, radius, colour, i === this.picked && this.motion.n > 1); done(); } });
      }
      if (chain.point[i] && chain.mass[i] > 0) items.push(this.mass(i, b, colour));
      if (look.centres && chain.mass[i] > 0) items.push(this.centre(i));
    }
    return items;
  }

  shown(i, depth) {
    return css(blend(this.colour(i), this.colours.ground, this.fade(depth)));
  }

  stick(a, b, radius, colour, picked = false) {
    const { context, colours } = this, [ra, rb] = [a, b].map((place) => Math.max(0.6, radius * place[3]));
    bar(context, a, b, ra, rb, colour, picked ? colours.ink : colours.ground);
  }

  ballOf(i) {
    const most = this.chain.mass.reduce((a, b) => Math.max(a, b), 0) || 1;
    return Math.max(0.7, BALL * Math.sqrt(this.chain.mass[i] / most)) * this.radius;
  }

  // A point mass: behind the links that come towards the eye, in front of the others.
  mass(i, at, colour) {
    const radius = this.ballOf(i) * at[3], raised = [at[0], at[1], at[2] + STEEP * this.chain.length[i], at[3]];
    return { a: raised, b: raised, half: radius, link: i + 0.5, draw: () => ball(this.context, at, radius, colour, this.colours.ground) };
  }

  centre(i) {
    const { context, colours } = this, at = this.pixel(...this.motion.centre(i)), raised = [at[0], at[1], at[2] + 3 * this.radius + this.chain.length[i], at[3]], size = Math.max(2.4, 0.28 * this.thickness);
    return { a: raised, b: raised, half: size, link: i, draw: () => { drawDisc(context, at, size, colours.ink); drawDisc(context, at, 0.5 * size, colours.ground); } };
  }

  // A body: the parts of its rod behind the solid, its sides that face the eye, the parts of its rod before it.
  solid(i, a, b, colour, done) {
    const { context, motion, chain, camera, colours } = this, { centre, axes, half, rods, foot, side } = chain.solids[i], mesh = this.meshes[i];
    const inside = (point) => this.pixel(...motion.inBody(i, point)), along = (share) => this.pixel(...motion.spot(i, share)), heart = inside(centre);
    const world = mesh.points.map((point) => motion.inBody(i, point)), seen = world.map((point) => this.pixel(...point)), quaternion = motion.quaternion(i);
    const sticks = [...rods.map(([from, to]) => [along(from), along(to), 0.6]), ...(foot === null ? [] : [[along(foot), heart, 0.4]])];
    const [p, q] = rods.length ? [a, b] : [-1, 1].map((end) => inside(centre.map((part, k) => part + end * half[1] * axes[1][k])));
    const edge = i === this.picked && motion.n > 1 ? colours.ink : colours.ground, stripe = stripeOf(colour, this.colour(i));
    const draw = () => {
      const rod = (before) => { for (const [from, to, share] of sticks) if (from[2] + to[2] > 2 * heart[2] === before) this.stick(from, to, share * this.radius, colour); };
      const behind = a[2] <= heart[2] && !chain.pins[i].length;  // the solid may cover the hinge
      if (behind) done();
      rod(false);
      drawSolid(context, mesh, { world, seen, quaternion }, camera, [colour, stripe], edge);
      rod(true);
      if (!behind) done();
    };
    return { a: p, b: q, half: side * heart[3], link: i, draw };
  }

  // Hinges: the axes of their joints as short pins, a disc for a ball.
  drawJoints(i, places, drawn, thin) {
    const { chain, look } = this;
    drawn[i] = 1;
    if (!look.hinges) return;
    for (const p of [i, i + 1]) if (p < chain.n && drawn[p] && (p === 0 || drawn[p - 1])) this.drawHinge(p, places[p], thin);
  }

  drawHinge(p, at, thin) {
    const { context, chain, colours, motion } = this, size = Math.max(0.7, this.radius * at[3]), tone = css(blend(colours.ground, colours.ink, colours.dark ? 0.25 : 0.2)), axes = chain.pins[p];
    for (const [owner, axis] of axes) {
      const way = owner < 0 ? axis : turned(motion.quaternion(owner), axis), ends = [-1, 1].map((end) => this.pixel(motion.x[p] + end * 2 * this.radius * way[0], motion.y[p] + end * 2 * this.radius * way[1], motion.z[p] + end * 2 * this.radius * way[2]));
      drawLine(context, ...ends, colours.ink, Math.max(1.2, 0.5 * size));
    }
    const radius = (thin ? 0.6 : chain.point[p] || chain.point[p - 1] ? 0.32 : 0.46) * size;
    if (!axes.length && radius >= 0.9 && !(chain.point[p - 1] && chain.mass[p - 1] > 0)) drawDisc(context, at, radius, thin ? colours.ink : tone);
  }

  // Forces at the tip: [fx, fy, fz], or what presses along the last link.
  drawForces() {
    const { motion, look, chain, thickness } = this, { tip, follower, n } = chain;
    if (!look.forces) return;
    const ways = [...(tip ? [[tip, false]] : []), ...(follower ? [[motion.direction(n - 1).map((part) => -follower * part), follower > 0]] : [])];
    for (const [force, onto] of ways) {
      const size = Math.hypot(...force) || 1, at = this.point(n), [ax, ay] = at, reach = this.camera.reach;
      const [bx, by] = this.pixel(...[motion.x[n], motion.y[n], motion.z[n]].map((part, k) => part + (0.1 * reach * force[k]) / size)), long = Math.hypot(bx - ax, by - ay);
      if (long > 0.25 * thickness) this.arrow([ax, ay], bx - ax, ay - by, onto);
    }
  }

  // The directions of x, y and z, small in a corner.
  drawAxes() {
    const { context, camera, colours, width, height } = this, at = [width - BASE, height - BASE + 16], names = ["x", "y", "z"];
    const axes = names.map((name, k) => ({ name, x: camera.right[k], y: -camera.up[k], depth: camera.back[k] })).sort((p, q) => p.depth - q.depth);
    Object.assign(context, { font: `11px ${colours.font}`, textAlign: "center", textBaseline: "middle", lineCap: "round" });
    for (const { name, x, y, depth } of axes) {
      const shade = css(blend(colours.ground, colours.muted, 0.75 + 0.25 * depth));
      drawLine(context, at, [at[0] + ARM * x, at[1] + ARM * y], shade, 1.6);
      context.fillStyle = shade;
      if (Math.hypot(x, y) > 0.2) context.fillText(name, at[0] + (ARM + 9) * x, at[1] + (ARM + 9) * y);
    }
  }
}
