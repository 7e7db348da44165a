// The tools that draw a linkage on the stage: links, sliders, what holds points, springs. Every change goes through the model.

import { Refused, natureText, withGuide, withLink, withPin, withSlider, withSpring, without, withoutClosure, withoutSpring } from "./building.js";
import { dragged } from "./pulling.js";
import { linkageOf } from "./linkage.js";
import { withStart } from "./starts.js";
import { roundStep, valueText } from "/web/axes.js";
import { button, drawDisc, drawLine, el, placeIn } from "/web/dom.js";

const POINT = 12;
const LINE = 9;
const FINGER = 1.8;
const SLOP = 5;
const CELLS = 8;
const ACROSS = 4;
const BESIDE = 80;
const FIFTEEN = Math.PI / 12;
const LEVEL = Math.PI / 2;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const STRIDE = 10;
const BY_KEYS = { pointerId: "keys", pointerType: "mouse", shiftKey: false };
const TOOLS = [
  ["pose", "v", "pose", "Pose: drag any point (v)", "Drag any link"],
  ["link", "l", "link", "Link: drag from the ground, a joint or a link; ends on a point to be pinned there (l)", "Drag from the ground, a joint or a link; let go on a point to pin the end there. Shift snaps"],
  ["slider", "s", "slider", "Slider: drag on the ground or press on a link; from a joint, guide it along a line (s)", "Drag on the ground: a slider on a rail. Drag a joint: guide it along a line. Press a link: a slider on it"],
  ["ground", "g", "ground", "Hold: press a joint to hold it; drag it onto a point to pin it, onto a link to slide there (g)", "Press a joint: hold it to the ground. Drag it onto a point: pin both; onto a link: slide along it. Drag a slider: turn its rail"],
  ["point", "o", "point", "Point: choose the point whose path is drawn, also beside a link (o)", "Press a link for a point on it, or drag from a link to a point beside it: its path is drawn, and links can hang there"],
  ["spring", "k", "spring", "Spring: drag from a point to another (k)", "Drag from a point to another"],
  ["delete", "x", "bin", "Delete: press on a link, a pin or a spring (x)", "Press a link, a pin or a spring; what hangs on a link goes with it"],
];

export class Tools {
  constructor(pane) {
    Object.assign(this, { pane, tool: "pose", held: null, marks: [], cursor: null });
    this.buttons = Object.fromEntries(TOOLS.map(([name, , icon, title]) => [name, button(title, icon, () => this.choose(name), { class: "toggle", "aria-pressed": String(name === "pose") })]));
    this.node = el("div", { class: "toolbox", role: "toolbar", "aria-label": "Drawing", "aria-orientation": "vertical", onkeydown: (event) => this.walk(event), onfocusin: (event) => this.rove(event.target) }, ...Object.values(this.buttons));
    this.line = el("p", { class: "nature", role: "status" });
  }

  // The model that is drawn on: the one of the page, or an empty one.
  get model() {
    return this.fresh ?? this.pane.studio.model;
  }

  // Another model: points that were chosen on the one before are not its own.
  reset() {
    this.marks = [];
    this.pane.drive.trace(null);
  }

  // An empty stage, until something is drawn or chosen.
  begin() {
    const { run } = this.pane.studio.model.table, table = { title: "", links: [], loads: { gravity: 9.81 }, start: { theta: [], omega: [] }, ...(run ? { run } : {}) };
    this.reset();
    this.choose("link");
    const { stage } = this.player;
    stage.camera = { scale: Math.min(stage.width, stage.height) / ACROSS, x: 0, y: 0 };
    this.fresh = { table, linkage: linkageOf({ links: [] }) };
    this.line.textContent = "";
    this.pane.hand.tell("Press anywhere and drag");
  }

  attach(player) {
    this.player = player;
    const view = player.stage.canvas.parentElement, { inSpace } = this.pane;
    view.append(...(inSpace ? [] : [this.node]), el("div", { class: "saying-below" }, this.pane.hand.hint, this.line));
    if (inSpace) {
      this.line.textContent = "";
      return;
    }
    view.addEventListener("pointerdown", (event) => this.down(event), true);
    view.addEventListener("pointermove", (event) => this.move(event), true);
    for (const kind of ["pointerup", "pointercancel"]) view.addEventListener(kind, (event) => this.up(event), true);
    player.stage.canvas.addEventListener("touchstart", (event) => { if (this.tool !== "pose") event.preventDefault(); }, { passive: false });
    player.over.push((context) => this.draw(context));
    player.stage.canvas.addEventListener("keydown", (event) => this.key(event));
    this.rove(this.buttons.pose);
    const keys = Object.fromEntries(TOOLS.map(([name, key]) => [key, () => { this.choose(name); player.stage.canvas.focus({ preventScroll: true }); }]));
    player.keys.push(() => (this.tool === "pose" ? keys : { ...keys, Escape: keys.v }));
  }

  choose(name) {
    this.tool = name;
    this.held = this.near = this.cursor = null;
    if (name === "pose") this.leave();
    for (const [key, node] of Object.entries(this.buttons)) node.setAttribute("aria-pressed", String(key === name));
    const { canvas } = this.player.stage;
    canvas.classList.toggle("drawing", name !== "pose");
    if (name === "pose") canvas.removeAttribute("aria-description");
    else canvas.setAttribute("aria-description", "Arrow keys move a cursor, with Shift in small steps; Enter presses and lets go");
    if (name !== "pose") {
      this.pane.drive.stop();
      this.player.pause();
      this.player.jump(0);
      this.hold();
      this.player.stage.fitted = false;
    } else {
      this.player.hold(null);
      this.player.stage.fit();
    }
    this.hint();
    this.player.request();
  }

  // What the tool does.
  hint() {
    this.pane.hand.tell(TOOLS.find(([key]) => key === this.tool)[4]);
  }

  // Back from an empty stage.
  leave() {
    const { studio, inSpace } = this.pane, { fresh } = this;
    this.fresh = this.told = null;
    this.tell();
    if (fresh && studio.valid?.chain.space && !inSpace) this.pane.renew(studio.valid);
  }

  // The server has taken the model.
  took() {
    this.tell();
    if (this.tool !== "pose") this.hold();
  }

  // The model has changed: say what it is.
  tell() {
    const { table, linkage } = this.pane.studio.model, theta = table.start?.theta;
    if (theta?.length !== linkage.n || !theta.every(Number.isFinite) || this.told === table) return;
    this.told = table;
    this.line.textContent = natureText(linkage, theta);
    this.marks = this.marks.filter(({ link }) => link < linkage.n);
  }

  // Show the start.
  hold() {
    const { model: { table }, valid } = this.pane.studio;
    if (table.start.theta?.length === valid.chain.n) this.player.hold(table.start.theta, valid.chain);
  }

  pose() {
    return Float64Array.from(this.held?.theta ?? this.model.table.start.theta);
  }

  place(point, frames = this.model.linkage.frames(this.pose())) {
    if (Array.isArray(point)) return point;
    const { x, y } = this.model.linkage.point(frames, point);
    return [x, y];
  }

  // Points of bodies and of the ground that something can be hung on or pinned to: { point, x, y }.
  targets() {
    const { linkage, table } = this.model, frames = linkage.frames(this.pose()), found = [];
    const add = (point) => { const [x, y] = this.place(point, frames); found.push({ point, x, y }); };
    const ground = ({ link, along, left }) => (link < 0 ? [left, -along] : { link, along, left });
    linkage.bodies.forEach(({ slides, parent, lever: [along, left], length }, i) => {
      if (!slides) add(ground({ link: parent, along, left }));
      add({ link: i, along: length, left: 0 });
    });
    for (const { a, b } of linkage.closures) for (const end of [a, b]) if (end) add(ground(end));
    this.marks.forEach(add);
    for (const { a, b } of springsOf(table)) for (const end of [a, b]) if (end?.link === undefined) add(Array.isArray(end) ? end : [end.x, end.y]);
    return found;
  }

  // What is under a place of the canvas: a point, a place on a link, or the ground. without(target): what is not meant.
  under(place, event, without = () => false) {
    const { stage } = this.player, { linkage } = this.model, reach = event.pointerType === "touch" ? FINGER : 1, [wx, wy] = stage.world(place);
    const apart = ({ x, y }) => { const [px, py] = stage.pixel(x, y); return Math.hypot(px - place[0], py - place[1]); };
    const points = this.targets().filter((target) => !without(target) && apart(target) < POINT * reach).sort((a, b) => apart(a) - apart(b));
    if (points.length) return { kind: "point", ...points[0] };
    const frames = linkage.frames(this.pose()), unit = this.unit();
    let nearest = LINE * reach / stage.camera.scale, found = null;
    linkage.bodies.forEach(({ slides, length }, link) => {
      const { along, left } = linkage.grip(frames, link, wx, wy), on = Math.min(length, Math.max(0, along)), far = Math.hypot(along - on, left);
      if (slides || far > nearest || without({ point: { link } })) return;
      nearest = far;
      const at = { link, along: rounded(on, unit), left: 0 }, [x, y] = this.place(at, frames);
      found = { kind: "link", point: at, x, y };
    });
    if (found) return found;
    const step = event.shiftKey ? this.grid() / 4 : unit, [x, y] = [rounded(wx, step), rounded(wy, step)];
    return { kind: "ground", point: [x, y], x, y };
  }

  // The grid that is drawn, and the last digit that can be seen, in m.
  grid() {
    const { width, height, camera } = this.player.stage;
    return roundStep(Math.min(width, height) / CELLS / camera.scale);
  }

  unit() {
    return 10 ** Math.floor(Math.log10(4 / this.player.stage.camera.scale));
  }

  // With Shift: by multiples of 15 degrees and of a quarter of the grid from where it began.
  snapped(from, to, event) {
    if (!event.shiftKey || to.kind !== "ground") return to;
    const dx = to.x - from.x, dy = to.y - from.y, angle = FIFTEEN * Math.round(Math.atan2(dy, dx) / FIFTEEN), long = rounded(Math.hypot(dx, dy), this.grid() / 4);
    const [x, y] = [from.x + long * Math.cos(angle), from.y + long * Math.sin(angle)];
    return { kind: "ground", point: [x, y], x, y };
  }

  down(event) {
    const { stage } = this.player;
    if (this.tool === "pose" || event.button > 0 || event.target !== stage.canvas) return;
    event.stopImmediatePropagation();
    if (this.held) return;
    stage.canvas.setPointerCapture(event.pointerId);
    this.cursor = null;
    this.press(placeIn(stage.canvas, event), event);
  }

  press(place, event) {
    const from = this.under(place, event);
    this.held = { from, to: from, place, pointer: event.pointerId, theta: Float64Array.from(this.model.table.start.theta), course: {}, moved: false };
    this.player.request();
  }

  move(event) {
    const { stage } = this.player;
    if (this.tool === "pose" || (event.target !== stage.canvas && !this.held)) return;
    event.stopImmediatePropagation();
    if (!this.held || event.pointerId === this.held.pointer) this.lead(placeIn(stage.canvas, event), event);
  }

  // The pointer or the cursor is at a place.
  lead(place, event) {
    const { held } = this;
    if (!held) {
      this.near = this.under(place, event);
      this.player.request();
      return;
    }
    held.moved ||= Math.hypot(place[0] - held.place[0], place[1] - held.place[1]) > SLOP;
    if (!held.moved) return;
    if (this.tool === "ground" && held.from.point.link >= 0 && held.from.kind === "point") this.dragPoint(place, event);
    else held.to = this.snapped(held.from, this.under(place, event, this.meant(held.from)), event);
    this.player.request();
  }

  // Not the body itself that is dragged, nor what is at the same place.
  meant({ point, x, y }) {
    return (target) => target.point.link >= 0 && this.tool !== "link" && this.tool !== "spring" ? target.point.link === point.link || (target.x === x && target.y === y) : target.x === x && target.y === y;
  }

  dragPoint(place, event) {
    const { held } = this, { stage } = this.player, grip = held.from.point, linkage = (held.linkage ??= this.model.linkage.freed());
    held.theta = dragged(linkage, held.theta, grip, stage.world(place), { course: held.course });
    const [x, y] = this.place(grip);
    held.to = this.under(place, event, (target) => target.point.link === grip.link || Math.hypot(target.x - x, target.y - y) < 1e-9 * linkage.size);
    this.player.hold(held.theta, this.pane.studio.valid.chain);
  }

  up(event) {
    const { held } = this;
    if (this.tool === "pose" || !held || event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    this.held = null;
    if (event.type === "pointercancel") this.player.hold(null);
    else this.act(held);
    this.player.request();
  }

  // The keys of the stage while something is drawn: arrows move a cursor, Enter presses there and lets go.
  key(event) {
    const way = ARROWS[event.key], { stage } = this.player, { held } = this;
    if (this.tool === "pose" || event.ctrlKey || event.metaKey || event.altKey || !(way || event.key === "Enter") || (held && held.pointer !== "keys")) return;
    event.preventDefault();
    event.stopPropagation();
    const [x, y] = this.cursor ?? [stage.width / 2, stage.height / 2], [across, down] = way ?? [0, 0], far = event.shiftKey ? 1 : STRIDE;
    this.cursor = [Math.min(stage.width, Math.max(0, x + far * across)), Math.min(stage.height, Math.max(0, y + far * down))];
    this.lead(this.cursor, BY_KEYS);
    if (!way && held) {
      this.held = null;
      this.act(held);
    } else if (!way) this.press(this.cursor, BY_KEYS);
    this.player.request();
    this.player.say(this.placeText(this.held ? this.held.to : this.near));
  }

  // What the cursor is on, in words.
  placeText(at) {
    if (!at) return "";
    const body = at.point.link, on = body === undefined ? "the ground" : `${this.model.linkage.bodies[body].slides ? "slider" : "link"} ${body + 1}`;
    return `${at.kind === "point" ? "a point of " : ""}${on} at ${valueText(rounded(at.x, this.unit()), 3)}, ${valueText(rounded(at.y, this.unit()), 3)} m`;
  }

  // Arrow keys go from tool to tool; Tab reaches one of them.
  walk(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key], all = [...this.node.children];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    all[(all.indexOf(event.target) + step + all.length) % all.length].focus();
  }

  rove(target) {
    for (const node of this.node.children) node.tabIndex = node === target ? 0 : -1;
  }

  act(held) {
    try {
      const { table: before } = this.model, table = withStart(before, { theta: held.theta, omega: before.start.omega }), next = this[`use_${this.tool}`](table, held);
      if (next) {
        this.fresh = null;
        this.hint();
        this.pane.studio.model.load(next);
      } else this.hold();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.hold();
      this.pane.hand.tell(error.message[0].toUpperCase() + error.message.slice(1), true);
    }
  }

  use_link(table, { from, to, moved }) {
    if (!moved || Math.hypot(to.x - from.x, to.y - from.y) < this.unit()) return null;
    return withLink(table, from.point, to, to.kind === "ground" ? null : to.point, (point) => this.place(point));
  }

  use_slider(table, { from, to, moved }) {
    const direction = moved ? towards(from, to) : 0;
    if (from.kind === "link") return withSlider(table, from.point, -LEVEL);
    if (from.kind === "ground" || from.point.link === undefined) return withSlider(table, from.point, direction);
    if (!moved) return null;
    return to.kind === "link" ? withGuide(table, from.point, to.point, -LEVEL) : withGuide(table, from.point, [from.x, from.y], direction);
  }

  use_ground(table, { from, to, moved }) {
    const { linkage } = this.model, { point } = from;
    if (point.link === undefined || from.kind !== "point") return null;
    if (moved && linkage.bodies[point.link].slides) return this.turnRail(table, point.link, from, to);
    if (!moved || to.kind === "ground") return withPin(table, point, moved ? [to.x, to.y] : [from.x, from.y]);
    return to.kind === "point" ? withPin(table, point, to.point) : withGuide(table, point, to.point, -LEVEL);
  }

  turnRail(table, link, from, to) {
    const body = this.model.linkage.bodies[link], turn = body.parent < 0 ? 0 : this.model.linkage.frames(this.pose()).angle[body.parent];
    const links = table.links.map((row, i) => (i === link ? { ...row, direction: towards(from, to) - turn } : row));
    return { ...table, links, start: this.model.table.start };
  }

  // A point of a link; dragged from the link it may be anywhere beside it.
  use_point(table, { place, from, to, moved }) {
    const { stage } = this.player, pressed = from.point.link ?? (this.fresh ? -1 : stage.linkAt(...place, BESIDE));
    if (pressed < 0) throw new Refused("a point belongs to a link: press the link, and drag to where its point is to be");
    if (!moved && from.point.link !== undefined) {
      this.pane.drive.trace(from.point);
      return null;
    }
    const [x, y] = moved ? [to.x, to.y] : stage.world(place), point = this.carried(pressed, x, y);
    this.marks.push(point);
    this.pane.drive.trace(point);
    return null;
  }

  // The point of a body at a place of the plane, to the last digit that can be seen.
  carried(link, x, y) {
    const { linkage } = this.model, { along, left } = linkage.grip(linkage.frames(this.pose()), link, x, y), unit = this.unit();
    return { link, along: rounded(along, unit), left: rounded(left, unit) };
  }

  use_spring(table, { from, to, moved }) {
    return moved && (from.point.link !== undefined || to.point.link !== undefined) ? withSpring(table, from.point, to.point, Math.hypot(to.x - from.x, to.y - from.y)) : null;
  }

  use_delete(table, { from, place }) {
    const { linkage } = this.model, frames = linkage.frames(this.pose()), { stage } = this.player;
    const at = (end) => stage.pixel(...this.place(end?.link === undefined ? (Array.isArray(end) ? end : [end.x, end.y]) : { along: linkage.bodies[end.link].length, left: 0, ...end }, frames));
    const here = linkage.closures.findIndex(({ a }) => a && Math.hypot(...at(a).map((value, k) => value - place[k])) < POINT);
    if (here >= 0) return withoutClosure(table, here);
    const spring = springsOf(table).findIndex(({ a, b }) => apartFrom(at(a), at(b), place) < LINE);
    if (spring >= 0) return withoutSpring(table, spring);
    const body = from.kind === "ground" && !this.fresh ? stage.linkAt(...place) : from.point.link ?? -1;
    return body >= 0 ? without(table, body) : null;
  }

  drawMark(context, point) {
    const { linkage } = this.model, { stage } = this.player, { link } = point, frames = linkage.frames(this.pose());
    const corners = [{ link, along: 0, left: 0 }, point, { link, along: linkage.bodies[link].length, left: 0 }].map((each) => stage.pixel(...this.place(each, frames)));
    if (point.left) drawPlate(context, corners, stage.colours.accent);
  }

  draw(context) {
    const { stage } = this.player, { held, near } = this, { colours } = stage;
    if (this.fresh) {
      context.fillStyle = colours.ground;
      context.fillRect(0, 0, stage.width, stage.height);
      stage.drawGrid();
    }
    if (this.tool !== "pose") for (const mark of this.marks) this.drawMark(context, mark);
    if (this.tool === "point" && held?.moved && held.from.point.link >= 0) this.drawMark(context, this.carried(held.from.point.link, held.to.x, held.to.y));
    if (this.tool !== "pose") for (const { x, y } of this.targets()) drawDisc(context, stage.pixel(x, y), 3, colours.accent);
    if (this.cursor) drawCross(context, this.cursor, stage.colours.ink);
    const mark = held ? held.to : this.tool !== "pose" && near;
    if (mark) {
      Object.assign(context, { strokeStyle: colours.accent, lineWidth: 2 });
      context.beginPath();
      context.arc(...stage.pixel(mark.x, mark.y), mark.kind === "ground" ? 4 : 9, 0, 2 * Math.PI);
      context.stroke();
    }
    if (!held?.moved || this.tool === "ground" || this.tool === "delete") return;
    const { from, to } = held, dx = to.x - from.x, dy = to.y - from.y, end = stage.pixel(to.x, to.y);
    drawLine(context, stage.pixel(from.x, from.y), end, colours.accent, this.tool === "link" ? Math.max(4, 0.6 * stage.thickness) : 2);
    Object.assign(context, { font: `600 13px ${colours.font}`, fillStyle: colours.ink, textAlign: "left", textBaseline: "middle" });
    context.fillText(`${Number(Math.hypot(dx, dy).toPrecision(3))} m, ${Math.round((Math.atan2(dy, dx) * 180) / Math.PI)}\u00b0`, end[0] + 14, end[1] - 14);
  }
}

// The plate that carries a point beside a link: corners in the plane.
export function drawPlate(context, corners, colour) {
  context.fillStyle = colour;
  context.globalAlpha = 0.14;
  context.beginPath();
  for (const corner of corners) context.lineTo(...corner);
  context.fill();
  context.globalAlpha = 1;
}

function drawCross(context, [x, y], colour) {
  drawLine(context, [x - 8, y], [x + 8, y], colour, 1);
  drawLine(context, [x, y - 8], [x, y + 8], colour, 1);
}

function springsOf(table) {
  const springs = table.loads?.point_spring ?? [];
  return Array.isArray(springs) ? springs : [springs];
}

// The direction from one point to another, in whole degrees.
function towards(from, to) {
  return rounded(Math.atan2(to.y - from.y, to.x - from.x), Math.PI / 180);
}

function rounded(value, unit) {
  return Number((Math.round(value / unit) * unit).toPrecision(12));
}

function apartFrom([ax, ay], [bx, by], [x, y]) {
  const dx = bx - ax, dy = by - ay, share = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - share * dx, y - ay - share * dy);
}
