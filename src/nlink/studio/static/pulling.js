// Poses of a chain under the hand: the angles at which a point of a link is nearest to the hand, while a closed chain stays closed.
//
// The pose is continued in small steps: each goes towards the hand along the closed poses, and is closed again by the smallest turn
// of the links. So a closed chain stays on its branch. Three links with a pin have one freedom: their poses are a curve, and its
// direction is kept through dead positions, where two curves cross.

const CAP = 0.12;
const ROUNDS = 80;
const SOFT = 0.02;
const STILL = 1e-6;
const NUDGE = 0.01;

// How far the last tip is from the pin, and its rates of change with the angles, l cos and l sin.
function gap({ n, length, pin }, theta) {
  const across = new Float64Array(n), up = new Float64Array(n);
  let x = -pin[0], y = -pin[1];
  for (let i = 0; i < n; i++) {
    across[i] = length[i] * Math.cos(theta[i]);
    up[i] = length[i] * Math.sin(theta[i]);
    x += up[i];
    y -= across[i];
  }
  return { x, y, across, up };
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// Angles near these that close the chain, by turns of the links other than `kept`; `soft` damps turns that a dead position makes large.
export function closed(chain, angles, { kept = -1, soft = 1e-9, rounds = 40 } = {}) {
  const theta = Float64Array.from(angles), total = chain.length.reduce((sum, one) => sum + one, 0), damp = soft * total * total;
  for (let round = 0; round < rounds; round++) {
    const { x, y, across, up } = gap(chain, theta);
    if (Math.hypot(x, y) < 1e-10 * total) return theta;
    if (kept >= 0) across[kept] = up[kept] = 0;
    const xx = dot(across, across) + damp, xy = dot(across, up), yy = dot(up, up) + damp, det = xx * yy - xy * xy;
    const u = (yy * x - xy * y) / det, v = (xx * y - xy * x) / det;
    for (let i = 0; i < chain.n; i++) theta[i] -= Math.max(-0.5, Math.min(0.5, across[i] * u + up[i] * v));
  }
  return soft > 1e-6 ? theta : null;
}

// Where a point of a link is: grip = { link, along, left }; and how it moves with the angles.
export function gripped({ n, length }, theta, { link, along, left }) {
  const across = new Float64Array(n), up = new Float64Array(n);
  let x = 0, y = 0;
  for (let i = 0; i <= link; i++) {
    const s = Math.sin(theta[i]), c = Math.cos(theta[i]), far = i < link ? length[i] : along, aside = i < link ? 0 : left;
    x += far * s + aside * c;
    y += -far * c + aside * s;
    across[i] = far * c - aside * s;
    up[i] = far * s + aside * c;
  }
  return { x, y, across, up };
}

// Solve the symmetric 4 by 4 system a x = b.
function solved(a, b) {
  const rows = a.map((row, i) => [...row, b[i]]);
  for (let k = 0; k < 4; k++) {
    const best = [0, 1, 2, 3].slice(k).reduce((most, i) => (Math.abs(rows[i][k]) > Math.abs(rows[most][k]) ? i : most), k);
    [rows[k], rows[best]] = [rows[best], rows[k]];
    if (!rows[k][k]) return null;
    for (let i = 0; i < 4; i++) {
      if (i === k) continue;
      const factor = rows[i][k] / rows[k][k];
      for (let j = k; j < 5; j++) rows[i][j] -= factor * rows[k][j];
    }
  }
  return rows.map((row, k) => row[4] / row[k]);
}

// The step (n,) that brings the point by (dx, dy) as well as the links that `turns` lets turn and the pin allow.
function step(chain, theta, grip, [dx, dy], turns) {
  const point = gripped(chain, theta, grip), total = chain.length.reduce((sum, one) => sum + one, 0), damp = 1e-4 * total * total;
  const rows = [point.across, point.up].map((row) => row.map((value, i) => (turns(i) ? value : 0)));
  if (!chain.pin) {
    const xx = dot(rows[0], rows[0]) + damp, xy = dot(rows[0], rows[1]), yy = dot(rows[1], rows[1]) + damp, det = xx * yy - xy * xy;
    const u = (yy * dx - xy * dy) / det, v = (xx * dy - xy * dx) / det;
    return rows[0].map((value, i) => value * u + rows[1][i] * v);
  }
  const ends = gap(chain, theta);
  rows.push(ends.across, ends.up);
  const soft = [damp, damp, 1e-8 * total * total, 1e-8 * total * total];
  const found = solved(rows.map((a, i) => rows.map((b, j) => dot(a, b) + (i === j ? soft[i] : 0))), [dx, dy, 0, 0]);
  return found ? rows[0].map((_, i) => rows.reduce((sum, row, k) => sum + row[i] * found[k], 0)) : null;
}

// The step of three links along their curve of closed poses; course.way is the direction of the step before.
function stepAlong(chain, theta, grip, [dx, dy], course) {
  const { across: a, up: b } = gap(chain, theta), cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const size = Math.hypot(...cross), total = chain.length.reduce((sum, one) => sum + one, 0);
  let way = size > 1e-7 * total * total ? cross.map((value) => value / size) : course.way;
  if (!way) return null;
  if (course.way && dot(way, course.way) < 0) way = way.map((value) => -value);
  course.way = way;
  const point = gripped(chain, theta, grip), x = dot(point.across, way), y = dot(point.up, way);
  const far = (x * dx + y * dy) / (x * x + y * y + 1e-6 * total * total);
  return Float64Array.from(way, (value) => far * value);
}

// The angles, continued from theta, at which the gripped point is nearest to the hand [x, y]. turns(i): whether link i of an open
// chain may turn; course: an object that holds the direction from one call to the next.
export function pulled(chain, theta, grip, hand, { turns = () => true, course = {} } = {}) {
  const miss = (angles) => { const { x, y } = gripped(chain, angles, grip); return [hand[0] - x, hand[1] - y]; };
  const far = (angles) => Math.hypot(...miss(angles)), found = descended(chain, Float64Array.from(theta), grip, miss, turns, course);
  if (chain.n < 4 || far(found) < STILL * chain.n) return found;
  // links in line pull along themselves and do not bend: bend them a little
  const bent = closable(chain, found.map((angle, i) => angle + (turns(i) ? NUDGE * Math.sin(7 * i + 1) : 0)));
  const second = descended(chain, bent, grip, miss, turns, course);
  return far(second) < far(found) - NUDGE * NUDGE ? second : found;
}

function closable(chain, theta) {
  return chain.pin ? closed(chain, theta, { soft: SOFT * SOFT, rounds: 12 }) : theta;
}

function descended(chain, theta, grip, miss, turns, course) {
  let now = theta;
  for (let round = 0; round < ROUNDS; round++) {
    const off = miss(now), curve = chain.pin && chain.n === 3;
    const turn = curve ? stepAlong(chain, now, grip, off, course) : step(chain, now, grip, off, turns);
    const size = turn ? turn.reduce((most, value) => Math.max(most, Math.abs(value)), 0) : 0;
    if (size < STILL) break;
    let next = null;
    for (let share = Math.min(1, CAP / size); !next && share * size > STILL; share /= 2) {
      const tried = now.map((angle, i) => angle + share * turn[i]), fitting = closable(chain, tried);
      const moved = fitting.reduce((most, angle, i) => Math.max(most, Math.abs(angle - tried[i])), 0);
      if (moved <= share * size && Math.hypot(...miss(fitting)) < Math.hypot(...off)) next = fitting;
    }
    if (!next) break;
    now = next;
  }
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
