// Painter's order and the shapes of space on a canvas. A place is [x, y, depth, size], as the orbit camera gives it.
//
// An item { a, b, half, link, draw } lies from a place to another one, so many pixels to each side. What lies in front where two of them
// cross on the screen is drawn later; else the one whose middle is nearer. `link` is where it stands along the chain, NaN for a piece of a
// line: of neighbours, which meet in a hinge, and of two pieces of a line the middles decide.

import { parsed } from "./colours.js";

// Pixels around a bar in the colour of the ground; half the width of a line below which it is not shaded,
// and how long it must then be, in these, to be set off at all.
const HALO = 1.3, FINE = 2, LONG = 8;

// Radius of the heaviest point mass, in that of a bar.
export const BALL = 1.75;

const cache = new Map();

export function channels(colour) {
  if (Array.isArray(colour)) return colour;
  if (!cache.has(colour)) cache.set(colour, colour.startsWith("#") ? parsed(colour) : colour.match(/\d+/g).map(Number));
  return cache.get(colour);
}

// `share` of the second colour over the first, as a text and as numbers.
export function blend(first, second, share) {
  const a = channels(first), b = channels(second);
  return a.map((part, k) => Math.round(part + (b[k] - part) * share));
}

export function css([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

export function ordered(items) {
  const order = [...items.keys()].sort((i, j) => depthOf(items[i]) - depthOf(items[j])), before = items.map(() => []), done = new Uint8Array(items.length), out = [];
  const boxes = items.map(({ a, b, half }) => [Math.min(a[0], b[0]) - half, Math.min(a[1], b[1]) - half, Math.max(a[0], b[0]) + half, Math.max(a[1], b[1]) + half]);
  for (let i = 0; i < items.length; i++) {
    const p = boxes[i];
    for (let j = i + 1; j < items.length; j++) {
      const q = boxes[j];
      if (p[0] > q[2] || q[0] > p[2] || p[1] > q[3] || q[1] > p[3] || !(Math.abs(items[i].link - items[j].link) > 1 || Number.isNaN(items[i].link) !== Number.isNaN(items[j].link))) continue;
      const front = ahead(items[i], items[j]);
      if (front > 0) before[i].push(j);
      else if (front < 0) before[j].push(i);
    }
  }
  const emit = (k) => {
    if (done[k]) return;
    done[k] = 1;
    before[k].forEach(emit);
    out.push(items[k]);
  };
  order.forEach(emit);
  return out;
}

function depthOf({ a, b }) {
  return a[2] + b[2];
}

// How much nearer the first item is where the two lie over one another; 0 where they do not, or meet.
function ahead(p, q) {
  const ux = p.b[0] - p.a[0], uy = p.b[1] - p.a[1], vx = q.b[0] - q.a[0], vy = q.b[1] - q.a[1], wx = q.a[0] - p.a[0], wy = q.a[1] - p.a[1];
  const cross = ux * vy - uy * vx, s = (wx * vy - wy * vx) / cross, r = (wx * uy - wy * ux) / cross;
  if (s > 0 && s < 1 && r > 0 && r < 1) return nearer(p, q, s, r);
  let least = p.half + q.half, found = 0;
  const meet = (distance, at, on) => { if (distance < least) [least, found] = [distance, nearer(p, q, at, on)]; };
  for (const [end, at] of [[p.a, 0], [p.b, 1]]) { const [on, far] = foot(end, q); meet(far, at, on); }
  for (const [end, at] of [[q.a, 0], [q.b, 1]]) { const [on, far] = foot(end, p); meet(far, on, at); }
  return found;
}

function nearer(p, q, s, r) {
  const gap = p.a[2] + s * (p.b[2] - p.a[2]) - q.a[2] - r * (q.b[2] - q.a[2]);
  return Math.abs(gap) * p.a[3] < 0.25 * (p.half + q.half) ? 0 : gap;
}

// Where on an item its point nearest to a place is, as a share, and how far away.
function foot([x, y], { a, b }) {
  const dx = b[0] - a[0], dy = b[1] - a[1], s = Math.min(1, Math.max(0, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1)));
  return [s, Math.hypot(x - a[0] - s * dx, y - a[1] - s * dy)];
}

// A line with round ends of its own size at each.
export function capsule(context, [ax, ay], [bx, by], ra, rb, colour) {
  const angle = Math.atan2(by - ay, bx - ax), quarter = Math.PI / 2;
  context.fillStyle = colour;
  context.beginPath();
  context.arc(ax, ay, ra, angle + quarter, angle + 3 * quarter);
  context.arc(bx, by, rb, angle - quarter, angle + quarter);
  context.fill();
}

// A band around a fine line that does not cover what it joins at its ends.
function side(context, [ax, ay], [bx, by], half, colour) {
  const far = Math.hypot(bx - ax, by - ay) || 1, x = (-half * (by - ay)) / far, y = (half * (bx - ax)) / far;
  polygon(context, [[ax + x, ay + y], [bx + x, by + y], [bx - x, by - y], [ax - x, ay - y]], colour);
}

// A round bar, lit from the upper left, with the ground's colour around it.
export function bar(context, a, b, ra, rb, colour, ground, least = FINE) {
  const moved = ([x, y], r, share) => [x - 0.8 * share * r, y - share * r];
  const fine = ra <= least;
  if (!fine) capsule(context, a, b, ra + HALO, rb + HALO, ground);
  else if (Math.hypot(b[0] - a[0], b[1] - a[1]) > LONG * ra) side(context, a, b, ra + 0.6 * HALO, ground);
  capsule(context, a, b, ra, rb, css(blend(colour, [0, 0, 0], fine ? 0 : 0.26)));
  if (fine) return;
  capsule(context, moved(a, ra, 0.16), moved(b, rb, 0.16), 0.74 * ra, 0.74 * rb, css(blend(colour, [255, 255, 255], 0.05)));
  capsule(context, moved(a, ra, 0.38), moved(b, rb, 0.38), 0.22 * ra, 0.22 * rb, css(blend(colour, [255, 255, 255], 0.36)));
}

export function ball(context, at, radius, colour, ground) {
  bar(context, at, [at[0] + 1e-6, at[1]], radius, radius, colour, ground, BALL * FINE);
}

// The corners of the hull about places.
export function hull(places) {
  const sorted = [...places].sort((p, q) => p[0] - q[0] || p[1] - q[1]), turn = (o, p, q) => (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
  const half = (list) => {
    const out = [];
    for (const place of list) {
      while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], place) <= 0) out.pop();
      out.push(place);
    }
    return out.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

export function polygon(context, places, colour) {
  context.fillStyle = colour;
  context.beginPath();
  for (const [x, y] of places) context.lineTo(x, y);
  context.closePath();
  context.fill();
}
