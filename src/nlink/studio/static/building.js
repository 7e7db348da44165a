// Changes of a model that is drawn: tables of a model file in, tables out. A point is { link, along, left } of a body or [x, y] of the
// ground. What closes a loop moves the start until the loop closes; if none is near, it is refused.

import { linkCount } from "./model.js";
import { linkageOf } from "./linkage.js";

const BODY = ["shape", "length", "mass", "com", "offset", "inertia"];
const STIFFNESS = 20;
const SLIDER_MASS = 1;
const PER_METRE = 1;

export class Refused extends Error {}

// The model as bodies one by one, each with its parent, and its pin as one of several.
export function mechanismOf(table) {
  const { links, pin, pins = [], ...rest } = table, n = linkCount(table), each = Array.isArray(links);
  const alike = Object.fromEntries(BODY.filter((key) => key in rest).map((key) => [key, rest[key]]));
  for (const key of BODY) delete rest[key];
  const rows = Array.from({ length: n }, (_, i) => ({ kind: "link", ...(each ? links[i] : alike), parent: (each ? links[i].parent : undefined) ?? i - 1 }));
  const closures = [...pins, ...(pin ? [{ kind: "pin", a: { link: n - 1 }, b: [pin.x ?? 0, pin.y ?? 0] }] : [])];
  const loads = { ...rest.loads };
  for (const name of ["tip_force", "follower_force"]) if (loads[name] && !Array.isArray(loads[name]) && typeof loads[name] === "object") loads[name] = { ...loads[name], link: loads[name].link ?? n - 1 };
  return { ...rest, loads, links: rows, ...(closures.length ? { pins: closures } : {}) };
}

function told(point) {
  return Array.isArray(point) ? point : { link: point.link, along: point.along, ...(point.left ? { left: point.left } : {}) };
}

// A body's parent and place of its joint.
function hung(point) {
  return Array.isArray(point) ? { parent: -1, at: point } : { parent: point.link, at: point.left ? [point.along, point.left] : point.along };
}

function grown(table, row, value) {
  const loads = Object.fromEntries(Object.entries(table.loads || {}).map(([name, load]) => [name, longer(name, load)]));
  const { theta, omega } = table.start, n = table.links.length, rates = Array.isArray(omega) ? omega : Array(n).fill(0);
  return { ...table, loads, links: [...table.links, row], start: { theta: [...theta, value], omega: [...rates, 0] } };
}

// A load with a value more for the new body: none acts on it.
function longer(name, load, keep = null) {
  const of = (values) => (keep ? values.filter((_, i) => keep(i)) : [...values, 0]);
  if (name.startsWith("point_") || name === "tip_force" || load === null || load?.times) return load;
  if (Array.isArray(load)) return of(load);
  return typeof load === "object" ? Object.fromEntries(Object.entries(load).map(([key, each]) => [key, Array.isArray(each) ? of(each) : each])) : load;
}

// A rod from one point to (x, y) of the plane; to: the point there that it is pinned to, if any. places: where points are, for its ends.
export function withLink(given, from, { x, y }, to, places) {
  const table = mechanismOf(given), [ax, ay] = places(from), length = Math.hypot(x - ax, y - ay), link = table.links.length;
  const next = grown(table, { kind: "link", shape: "rod", length, mass: PER_METRE * Number(length.toPrecision(6)), ...hung(from) }, Math.atan2(x - ax, ay - y));
  return to ? withPin(next, { link, along: length, left: 0 }, to) : next;
}

export function withSlider(given, from, direction) {
  return grown(mechanismOf(given), { kind: "slider", mass: SLIDER_MASS, direction, ...hung(from) }, 0);
}

// Two points held together.
export function withPin(given, a, b) {
  return assembled(closing(given, { kind: "pin", a: told(Array.isArray(a) ? b : a), b: told(Array.isArray(a) ? a : b) }));
}

// A point of a body that stays on a line through another point.
export function withGuide(given, point, through, direction) {
  return assembled(closing(given, { kind: "guide", point: told(point), through: told(through), direction }));
}

function closing(given, closure) {
  const table = mechanismOf(given);
  return { ...table, pins: [...(table.pins || []), closure] };
}

export function withSpring(given, a, b, length) {
  const table = mechanismOf(given), springs = table.loads.point_spring || [];
  const spring = { a: told(a), b: told(b), stiffness: STIFFNESS, length };
  return { ...table, loads: { ...table.loads, point_spring: [...(Array.isArray(springs) ? springs : [springs]), spring] } };
}

// Coordinates at which the loops close; rates from before would not fit them.
function assembled(table) {
  const linkage = linkageOf(table).measure(table.start.theta), { q, gap } = linkage.closing(table.start.theta, { rounds: 200 });
  if (!(gap < 1e-9)) throw new Refused(`these do not reach each other: the nearest pose leaves a gap of ${(gap * linkage.size).toPrecision(2)} m`);
  return { ...table, start: { theta: [...q], omega: table.start.omega } };
}

// Without a body and all that hangs on it.
export function without(given, body) {
  const table = mechanismOf(given), gone = new Set([body]);
  table.links.forEach(({ parent }, i) => { if (gone.has(parent)) gone.add(i); });
  if (gone.size === table.links.length) throw new Refused("a model needs a body; draw another one first");
  const keep = (i) => !gone.has(i), number = (i) => (i < 0 ? i : table.links.slice(0, i).filter((_, k) => keep(k)).length);
  const stays = (thing) => Object.values(thing).every((end) => end === null || typeof end !== "object" || !gone.has(end.link)) && !gone.has(thing.i) && !gone.has(thing.j) && !gone.has(thing.link);
  const moved = (thing) => Object.fromEntries(Object.entries(thing).map(([key, end]) => [key, ["i", "j", "link"].includes(key) ? number(end) : typeof end === "object" && end && "link" in end ? { ...end, link: number(end.link) } : end]));
  const loads = {};
  for (const [name, load] of Object.entries(table.loads)) {
    if (name.startsWith("point_")) loads[name] = (Array.isArray(load) ? load : [load]).filter(stays).map(moved);
    else if (load?.link === undefined || stays(load)) loads[name] = load?.link === undefined ? longer(name, load, keep) : moved(load);
    if (Array.isArray(loads[name]) && !loads[name].length) delete loads[name];
  }
  const links = table.links.filter((_, i) => keep(i)).map((row) => ({ ...row, parent: number(row.parent) })), pins = (table.pins || []).filter(stays).map(moved);
  const start = Object.fromEntries(Object.entries(table.start).map(([key, values]) => [key, Array.isArray(values) ? values.filter((_, i) => keep(i)) : values]));
  const { pins: _, ...rest } = table;
  return { ...rest, loads, links, start, ...(pins.length ? { pins } : {}) };
}

// Without what holds points at this place: pins, guides and bars whose end is there.
export function withoutClosure(given, k) {
  const table = mechanismOf(given), { pins: _, ...rest } = table, pins = table.pins.filter((_, i) => i !== k);
  return { ...rest, ...(pins.length ? { pins } : {}) };
}

export function withoutSpring(given, k) {
  const table = mechanismOf(given), { point_spring: springs, ...loads } = table.loads, left = (Array.isArray(springs) ? springs : [springs]).filter((_, i) => i !== k);
  return { ...table, loads: left.length ? { ...loads, point_spring: left } : loads };
}

export function counted(count, name) {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

// What a linkage is, in a line: "7 links, 3 loops, 1 freedom".
export function natureText(linkage, theta) {
  const { freedom, loops, spare, pivot } = linkage.nature(Float64Array.from(theta)), sliders = linkage.bodies.filter(({ slides }) => slides).length, links = linkage.n - sliders;
  const given = linkage.free.filter((free) => !free).length, parts = [links && counted(links, "link"), sliders && counted(sliders, "slider"), loops && counted(loops, "loop"), given && `${given} driven`].filter(Boolean);
  if (freedom === 0 && !given) return `${parts.join(", ")}; over-determined: cannot move`;
  const more = [`${counted(freedom, "freedom")}`, spare && `${counted(spare, "spare row")}: its reactions are not unique`, loops && pivot < 0.01 && "near a dead position"].filter(Boolean);
  return [...parts, ...more].join(", ");
}
