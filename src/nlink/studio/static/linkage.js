// Kinematics of links and sliders: where their points are, how these move with the coordinates, and the rows that close loops.
//
// The coordinate of a link is its absolute angle, that of a slider its displacement; a slider keeps the angle of its parent. A body
// has its origin on its parent at (along, left) of the parent's frame; the ground has the angle 0, so its point (x, y) is (-y, x).
// Rows, gaps and coordinates are without dimension: lengths are in parts of `size`.

const GROUND = -1;
const DEPENDENT = 1e-7;
const LOST = 1e-2;
const CLOSED = 1e-12;
const NEARLY = 1e-9;
const LIMP = 0.01;
const MOST = 0.5;
const APART = 0.05;

// The linkage of a model, given by the tables of its file, or by { n, length, pin } of a chain. What the server will refuse is left out.
export function linkageOf({ n, links, length = 1, pin, pins = [] }) {
  const each = Array.isArray(links), count = n ?? (each ? links.length : links);
  const rows = Array.from({ length: count }, (_, i) => (each ? links[i] : { length: Array.isArray(length) ? length[i] : length }));
  const bodies = rows.map(({ kind = "link", parent, at, length: long = 1, direction = 0, motion }, i) => {
    const on = Number.isInteger(parent) && parent >= GROUND && parent < i ? parent : i - 1;
    return { slides: kind === "slider", parent: on, lever: lever(rows, on, at), length: kind === "slider" ? 0 : Number(long), direction: [-Math.sin(direction), Math.cos(direction)], given: Boolean(motion) };
  });
  const ends = Array.isArray(pin) ? pin : pin && [pin.x ?? 0, pin.y ?? 0];
  const known = ({ a, b, point, through, i, j }) => [a?.link, b?.link, point?.link, through?.link, i, j].every((body) => body === undefined || body in rows);
  const closures = [...pins, ...(ends ? [{ a: { link: count - 1 }, b: ends }] : [])].filter(known).map((closure) => located(rows, closure));
  return new Linkage(bodies, closures);
}

// A place on a body, or on the ground, as [along, left] in its frame.
function lever(rows, body, at) {
  if (body === GROUND) return Array.isArray(at) ? [-at[1], at[0]] : [0, at ?? 0];
  if (at === undefined || at === null) return [rows[body].kind === "slider" ? 0 : Number(rows[body].length ?? 1), 0];
  return Array.isArray(at) ? at : [at, 0];
}

function located(rows, { kind = "pin", a, b, point, through, direction = 0, ...rest }) {
  const place = (end) => {
    if (end === undefined) return null;
    if (Array.isArray(end) || !("link" in end)) return spot(GROUND, ...lever(rows, GROUND, Array.isArray(end) ? end : [end.x ?? 0, end.y ?? 0]));
    return spot(end.link, ...lever(rows, end.link, end.along === undefined || end.along === null ? undefined : [end.along, end.left ?? 0]));
  };
  return { ...rest, kind, a: place(point ?? a), b: place(through ?? b), across: [-Math.cos(direction), -Math.sin(direction)] };
}

function spot(link, along, left) {
  return { link, along, left };
}

function dot(a, b, from = 0, to = a.length) {
  let sum = 0;
  for (let i = from; i < to; i++) sum += a[i] * b[i];
  return sum;
}

// Take share of b away from a.
function lessen(a, share, b, from = 0, to = a.length) {
  for (let i = from; i < to; i++) a[i] -= share * b[i];
}

// A row with the part of it, from one number to before another, outside of which it is zero: long ladders have short rows.
function measured(row, i) {
  let from = 0, to = row.length;
  while (from < to && row[from] === 0) from++;
  while (to > from && row[to - 1] === 0) to--;
  const square = dot(row, row, from, to);
  return { i, row: Float64Array.from(row), from, to, shares: [], square, whole: square };
}

// Rows as sums of orthonormal ones, the largest remainder first: pivoted QR of their transpose. Rows that depend on others are left out.
// The squares of the remainders are kept up, and made anew where they have lost their digits.
export function factored(rows) {
  const rest = rows.map(measured), base = [], picked = [];
  const size = (each) => Math.sqrt((each.square = dot(each.row, each.row, each.from, each.to)));
  while (rest.length) {
    let k = 0;
    for (let at = 0; at < rest.length; at++) {
      if (rest[at].square < LOST * rest[at].whole) size(rest[at]);
      if (rest[at].square > rest[k].square) k = at;
    }
    const pivot = size(rest[k]);
    if (!(pivot > DEPENDENT)) break;
    const [{ i, row: unit, shares, square, whole, ...part }] = rest.splice(k, 1);
    let { from, to } = part;
    for (let at = from; at < to; at++) unit[at] /= pivot;
    if (square < LOST * whole) {
      for (const other of base) lessen(unit, dot(unit, other), other);
      lessen(unit, 1 - 1 / Math.sqrt(dot(unit, unit)), unit);
      [from, to] = [0, unit.length];
    }
    base.push(unit);
    picked.push({ i, shares, pivot });
    for (const other of rest) {
      const share = dot(other.row, unit, Math.max(from, other.from), Math.min(to, other.to));
      other.shares.push(share);
      if (share === 0) continue;
      other.square -= share * share;
      lessen(other.row, share, unit, from, to);
      other.from = Math.min(from, other.from);
      other.to = Math.max(to, other.to);
    }
  }
  return { base, picked, smallest: picked.length ? picked[picked.length - 1].pivot : Infinity };
}

// What of a vector the rows allow.
export function projected({ base }, vector) {
  const found = Float64Array.from(vector);
  for (let again = 0; again < 2; again++) for (const unit of base) lessen(found, dot(found, unit), unit);
  return found;
}

export class Linkage {
  constructor(bodies, closures) {
    Object.assign(this, { bodies, n: bodies.length });
    this.turners = [];
    bodies.forEach(({ slides, parent }, i) => this.turners.push(slides ? (parent < 0 ? GROUND : this.turners[parent]) : i));
    this.size = bodies.reduce((most, { length, lever: at, parent }) => Math.max(most, length, parent < 0 ? 0 : Math.hypot(...at)), 0) || 1;
    this.scales = Float64Array.from(bodies, ({ slides }) => (slides ? this.size : 1));
    this.closures = closures;
    this.free = bodies.map(({ given }) => !given);
    this.touched = bodies.map(() => false);
    for (const { a, b, i, j } of closures) for (const body of [a?.link, b?.link, i, j]) for (const k of this.before(body ?? GROUND)) this.touched[k] = true;
  }

  // The same linkage with bodies free whose motion is prescribed: all of them, or some.
  freed(bodies = this.bodies.map((_, i) => i)) {
    return Object.assign(Object.create(Linkage.prototype), this, { free: this.free.map((free, i) => free || bodies.includes(i)) });
  }

  // A body and those that carry it.
  before(body) {
    return body < 0 ? [] : [body, ...this.before(this.bodies[body].parent)];
  }

  // The angles and origins of the bodies.
  frames(q) {
    const { n, bodies } = this, angle = new Float64Array(n), x = new Float64Array(n), y = new Float64Array(n);
    bodies.forEach(({ parent: k, lever: at, slides, direction }, i) => {
      const turn = k < 0 ? 0 : angle[k], s = Math.sin(turn), c = Math.cos(turn), move = slides ? q[i] : 0;
      const along = at[0] + move * direction[0], left = at[1] + move * direction[1];
      angle[i] = slides ? turn : q[i];
      x[i] = (k < 0 ? 0 : x[k]) + along * s + left * c;
      y[i] = (k < 0 ? 0 : y[k]) - along * c + left * s;
    });
    return { angle, x, y };
  }

  // Where a point { link, along, left } is, and how it moves with the coordinates: dx and dy (n,).
  point(frames, { link, along, left }) {
    const { angle, x, y } = frames, { n, bodies, turners } = this, dx = new Float64Array(n), dy = new Float64Array(n);
    const turn = link < 0 ? 0 : angle[link], s = Math.sin(turn), c = Math.cos(turn);
    const px = (link < 0 ? 0 : x[link]) + along * s + left * c, py = (link < 0 ? 0 : y[link]) - along * c + left * s;
    for (let i = link, [ax, ay] = [px, py]; i >= 0; [ax, ay] = [x[i], y[i]], i = bodies[i].parent) {
      if (turners[i] >= 0) {
        dx[turners[i]] -= ay - y[i];
        dy[turners[i]] += ax - x[i];
      }
      if (!bodies[i].slides) continue;
      const [du, dl] = bodies[i].direction, si = Math.sin(angle[i]), ci = Math.cos(angle[i]);
      dx[i] += du * si + dl * ci;
      dy[i] += dl * si - du * ci;
    }
    return { x: px, y: py, dx, dy };
  }

  // The point of a body in its frame that is at (x, y).
  grip(frames, link, x, y) {
    const turn = frames.angle[link], s = Math.sin(turn), c = Math.cos(turn), dx = x - frames.x[link], dy = y - frames.y[link];
    return spot(link, dx * s - dy * c, dx * c + dy * s);
  }

  // Lengths of bars and offsets of gears that are not given: those of these coordinates.
  measure(q) {
    const frames = this.frames(q);
    for (const closure of this.closures) {
      if (closure.kind === "distance") {
        const a = this.point(frames, closure.a), b = this.point(frames, closure.b);
        closure.length ??= Math.hypot(a.x - b.x, a.y - b.y);
      } else if (closure.kind === "gear") closure.offset ??= q[closure.i] - closure.ratio * q[closure.j];
    }
    return this;
  }

  // The gaps of the closures, and their rows: the derivatives of the gaps, (rows, n). turns(i): whether a body may move.
  rows(q, turns = () => true) {
    const frames = this.frames(q), { size, n } = this, gaps = [], rows = [], units = this.scales.map((scale, i) => (this.free[i] && turns(i) ? scale / size : 0));
    const add = (gap, row) => {
      for (let k = 0; k < n; k++) row[k] *= units[k];
      gaps.push(gap / size);
      rows.push(row);
    };
    for (const { kind, a, b, i, j, ratio, offset = 0, length, across } of this.closures) {
      if (kind === "gear") {
        const row = new Float64Array(n), unit = this.bodies[i].slides ? 1 : size;
        [row[i], row[j]] = [unit, -ratio * unit];
        add(unit * (q[i] - ratio * q[j] - offset), row);
        continue;
      }
      const from = this.point(frames, a), to = this.point(frames, b), x = from.x - to.x, y = from.y - to.y, { dx, dy } = from;
      lessen(dx, 1, to.dx);
      lessen(dy, 1, to.dy);
      if (kind === "pin") {
        add(x, dx);
        add(y, dy);
      } else if (kind === "distance") add((x * x + y * y - length * length) / (2 * length), dx.map((value, k) => (x * value + y * dy[k]) / length));
      else {
        const turn = b.link < 0 ? 0 : frames.angle[b.link], s = Math.sin(turn), c = Math.cos(turn);
        const nx = across[0] * s + across[1] * c, ny = across[1] * s - across[0] * c, row = dx.map((value, k) => nx * value + ny * dy[k]);
        if (b.link >= 0 && this.turners[b.link] >= 0) row[this.turners[b.link]] += nx * y - ny * x;
        add(nx * x + ny * y, row);
      }
    }
    return { gaps, rows };
  }

  // Coordinates near q that close the loops by the smallest change, and the largest gap that is left, in parts of the size. Damped
  // where rows nearly depend on each other, so that a dead position does not throw the links about.
  closing(q, { turns, rounds = 40 } = {}) {
    const found = Float64Array.from(q);
    for (let round = 0; ; round++) {
      const { gaps, rows } = this.rows(found, turns), gap = gaps.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
      if (!(gap > CLOSED) || round === rounds) return { q: found, gap };
      const change = this.change(factored(rows), gaps, LIMP * gap), most = change.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      for (let i = 0; i < this.n; i++) found[i] -= change[i] * this.scales[i] * Math.min(1, MOST / most);
      if (!(most > 0)) return { q: found, gap };
    }
  }

  closed(q, options) {
    const { q: found, gap } = this.closing(q, options);
    return gap < NEARLY ? found : null;
  }

  change({ base, picked }, gaps, damp) {
    const shares = [], change = new Float64Array(this.n);
    picked.forEach(({ i, shares: before, pivot }, k) => {
      shares.push(((gaps[i] - dot(before, shares)) * pivot) / (pivot * pivot + damp));
      lessen(change, -shares[k], base[k]);
    });
    return change;
  }

  // What the linkage is at closed coordinates: its freedom, loops, rows that say nothing new, and how near a dead position it is. The
  // rank is that of poses nearby, since rows depend on each other in a dead position.
  nature(q) {
    const { rows } = this.rows(q), here = factored(rows);
    let rank = here.base.length;
    for (let k = 1; k < 4 && rows.length; k++) {
      const near = this.closed(q.map((value, i) => value + APART * this.scales[i] * (this.free[i] ? Math.sin(7 * i + 3 * k) : 0)));
      if (near) rank = Math.max(rank, factored(this.rows(near).rows).base.length);
    }
    const pivot = here.base.length < rank ? 0 : here.smallest;
    return { freedom: this.free.filter(Boolean).length - rank, loops: this.closures.filter(({ kind }) => kind !== "gear").length, spare: rows.length - rank, pivot };
  }
}
