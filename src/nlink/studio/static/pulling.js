// Poses of a linkage under the hand: the coordinates at which a point of a body is nearest to the hand, while the loops stay closed.
//
// The pose is continued in small steps: each goes towards the hand along the closed poses, and is closed again by the smallest change.
// So a linkage stays on its branch. With one freedom its poses are a curve, and its direction is kept through dead positions, where
// curves cross.

import { factored, linkageOf, projected } from "./linkage.js";

const CAP = 0.12;
const ROUNDS = 80;
const STILL = 1e-6;
const NUDGE = 0.01;
const SOFT = 1e-4;
const STEADY = 0.2;
const BUDGET = 3;

function largest(values) {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

function dot(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

// The direction of the curve of poses of a linkage of one freedom, a unit vector in scaled coordinates; course.way is that of the step
// before. In a dead position, where several directions are allowed, it goes straight on, or where `aim` would lead.
function wayOf(linkage, rows, course, aim) {
  const split = factored(rows), open = linkage.free.filter(Boolean).length - split.base.length;
  const units = () => linkage.free.map((free, i) => (free ? 1 - split.base.reduce((sum, unit) => sum + unit[i] ** 2, 0) : -1));
  const first = () => { const sizes = units(), most = sizes.indexOf(Math.max(...sizes)); return sizes.map((_, i) => (i === most ? 1 : 0)); };
  const way = projected(split, open > 1 ? course.way || aim : first()), size = Math.sqrt(dot(way, way));
  if (!(size > STILL)) return null;
  const sign = course.way && dot(way, course.way) < 0 ? -1 : 1;
  course.way = way.map((value) => (sign * value) / size);
  return course.way;
}

// The step in scaled coordinates that brings what is aimed at, misses with their rows, as near as the links and loops allow.
function step(linkage, q, { misses, rows }, turns, course) {
  const closing = linkage.rows(q, turns).rows;
  const scaled = rows.map((row) => Float64Array.from(row, (value, i) => (linkage.free[i] && turns(i) ? value * linkage.scales[i] / linkage.size : 0))), off = misses.map((value) => value / linkage.size);
  if (linkage.closures.length && course.freedom === 1) {
    const aim = scaled[0].map((_, i) => scaled.reduce((sum, row, k) => sum + row[i] * off[k], 0)), way = wayOf(linkage, closing, course, aim);
    if (!way) return null;
    const rates = scaled.map((row) => dot(row, way)), far = dot(rates, off) / (dot(rates, rates) + STILL);
    return way.map((value) => far * value);
  }
  const split = factored(closing), [a, b = new Float64Array(linkage.n)] = scaled.map((row) => projected(split, row)), [x, y = 0] = off;
  const aa = dot(a, a) + SOFT, ab = dot(a, b), bb = dot(b, b) + SOFT, det = aa * bb - ab * ab;
  const u = (bb * x - ab * y) / det, v = (aa * y - ab * x) / det;
  return a.map((value, i) => value * u + b[i] * v);
}

function moved(linkage, q, change, share = 1) {
  return Float64Array.from(q, (value, i) => value + share * change[i] * linkage.scales[i]);
}

// aim(q) -> { misses, rows }: what is to vanish, and its derivatives with the other sign
function descended(linkage, q, aim, turns, course) {
  const far = (at) => Math.hypot(...aim(at).misses);
  let now = Float64Array.from(q);
  for (let round = 0; round < ROUNDS; round++) {
    const change = step(linkage, now, aim(now), turns, course), size = change ? largest(change) : 0;
    if (size < STILL) break;
    let next = null;
    for (let share = Math.min(1, CAP / size); !next && share * size > STILL; share /= 2) {
      const tried = moved(linkage, now, change, share), fitting = closable(linkage, tried, turns);
      const off = largest(fitting.map((value, i) => (value - tried[i]) / linkage.scales[i]));
      if (off <= share * size && far(fitting) < far(now)) next = fitting;
    }
    if (!next) break;
    now = next;
  }
  return now;
}

function closable(linkage, q, turns) {
  return linkage.closures.length ? linkage.closing(q, { turns, rounds: 12 }).q : q;
}

// The coordinates, continued from q, at which the gripped point { link, along, left } is nearest to the hand [x, y]. turns(i): whether
// a body may move; course: an object that holds the direction from one call to the next.
export function pulled(linkage, q, grip, hand, { turns = () => true, course = {} } = {}) {
  const aim = (at) => {
    const { x, y, dx, dy } = linkage.point(linkage.frames(at), grip);
    return { misses: [hand[0] - x, hand[1] - y], rows: [dx, dy] };
  };
  const far = (at) => Math.hypot(...aim(at).misses);
  course.freedom ??= linkage.nature(q).freedom;
  const found = descended(linkage, q, aim, turns, course);
  if (linkage.n < 4 || (linkage.closures.length && course.freedom < 2) || far(found) < STILL * linkage.size) return found;
  // links in line pull along themselves and do not bend: bend them a little
  const bend = found.map((_, i) => (turns(i) && linkage.free[i] ? NUDGE * Math.sin(7 * i + 1) : 0));
  const second = descended(linkage, closable(linkage, moved(linkage, found, bend), turns), aim, turns, course);
  return far(second) < far(found) - NUDGE * NUDGE * linkage.size ? second : found;
}

// The same for a body in the hand: in loops all that is in loops moves; else the body alone, those behind keep their angles, or turn
// with it (together), and those before it follow (all).
export function dragged(linkage, q, grip, hand, { course, together = false, all = false }) {
  const { link } = grip, { bodies, touched } = linkage;
  if (touched[link]) return pulled(linkage, q, grip, hand, { turns: (i) => touched[i], course });
  const behind = (i) => i >= 0 && (i === link || behind(bodies[i].parent)), before = linkage.before(link);
  const next = pulled(linkage, q, grip, hand, { turns: (i) => !touched[i] && (all ? before.includes(i) : i === link), course });
  if (together && !bodies[link].slides) for (let i = link + 1; i < linkage.n; i++) if (behind(i) && !bodies[i].slides && linkage.free[i]) next[i] += next[link] - q[link];
  return next;
}

// Go on along the closed poses until a crank has turned by so much, without masses. With one freedom the linkage follows its curve:
// where the crank can turn no further, it turns back, and the linkage goes on. course holds the direction, and in `blocked` whether
// the crank could not turn on.
export function driven(linkage, q, crank, angle, course) {
  course.freedom ??= linkage.nature(q).freedom;
  const scale = linkage.scales[crank];
  if (course.freedom !== 1 || !linkage.closures.length) {
    const target = q[crank] + angle, row = new Float64Array(linkage.n).fill(0).map((_, i) => (i === crank ? linkage.size / scale : 0));
    const found = descended(linkage, q, (at) => ({ misses: [((target - at[crank]) * linkage.size) / scale], rows: [row] }), () => true, course);
    course.blocked = Math.abs(found[crank] - target) > 1e-3 * scale;
    return found;
  }
  let now = Float64Array.from(q), left = Math.abs(angle) / scale, budget = BUDGET * left;
  for (let round = 0; left > STILL && budget > STILL && round < ROUNDS; round++) {
    const way = wayOf(linkage, linkage.rows(now).rows, course, now.map((_, i) => (i === crank ? 1 : 0)));
    if (!way) break;
    course.sense ??= Math.sign(way[crank] || 1);
    const share = Math.min(left / Math.abs(way[crank]), CAP, budget / largest(way)), kept = Math.abs(way[crank]) > STEADY ? (i) => i !== crank : undefined;
    const next = linkage.closing(moved(linkage, now, way, course.sense * Math.sign(angle) * share), { turns: kept, rounds: 12 }).q;
    left -= Math.abs(next[crank] - now[crank]) / scale;
    budget -= share * largest(way);
    now = next;
  }
  course.blocked = left > STILL;
  return now;
}

// The same chain on its other branch: the links behind the first are mirrored at the line from its end to the pin.
export function mirrored({ n, length, pin }, theta) {
  const from = n > 2 ? 1 : 0;
  const x = pin[0] - (from ? length[0] * Math.sin(theta[0]) : 0), y = pin[1] + (from ? length[0] * Math.cos(theta[0]) : 0), line = Math.atan2(x, -y);
  return Float64Array.from(theta, (angle, i) => (i < from ? angle : 2 * line - angle));
}

// The rates with which a hand that lets go now has thrown the links: the slopes of straight lines through the last poses
// [{ time in ms, theta }]. A hand that rests sends no poses: it has its last one still.
export function thrown(poses, now, { window = 80, rest = 20, most = 50 } = {}) {
  const last = poses.filter(({ time }) => now - time <= window), final = poses[poses.length - 1], rates = new Float64Array(final.theta.length);
  if (last.length < 2) return rates;
  if (now - final.time > rest) last.push({ time: now, theta: final.theta });
  const mean = last.reduce((sum, { time }) => sum + time, 0) / last.length, spread = last.reduce((sum, { time }) => sum + (time - mean) ** 2, 0);
  if (!(spread > 0)) return rates;
  return rates.map((_, i) => {
    const slope = (1000 * last.reduce((sum, { time, theta }) => sum + (time - mean) * (theta[i] - final.theta[i]), 0)) / spread;
    return Math.max(-most, Math.min(most, slope));
  });
}
