// The camera of space: it looks at a model from any side, in perspective. x right, y up, z to the viewer; angles in rad.
//
// As in orbit.py. `azimuth` turns the eye about the vertical, from z towards x; `elevation` lifts it. A place is [x, y, depth, size]:
// pixels, m towards the eye, and pixels a metre there.

const FAR = 3.6;
const RIM = 24;
// How much room is left below a ball, for the floor.
const BELOW = 1.15;
const MOST_ZOOM = 400, LEAST_ZOOM = 1 / 20;
const OBLIQUE = [0.6, 0.26];

export class OrbitCamera {
  constructor() {
    Object.assign(this, { zoom: 1, x: 0, y: 0, middle: [0, 0, 0], focus: 1, eye: 1, centre: [0, 0] });
    [this.azimuth, this.elevation] = OBLIQUE;
    this.axes();
  }

  look(azimuth, elevation) {
    this.azimuth = azimuth;
    this.elevation = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, elevation));
    this.axes();
  }

  axes() {
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    this.right = [ca, 0, -sa];
    this.up = [-sa * se, ce, -ca * se];
    this.back = [sa * ce, se, ca * ce];
  }

  // Fit an upright cylinder { x, z, radius, low, high }, or the ball within it, into a room of [left, top, right, bottom] pixels.
  fit({ x, z, radius, low, high, ball }, [left, top, right, bottom]) {
    const half = Math.max(1e-9, (high - low) / 2);
    this.middle = [x, low + half, z];
    this.reach = ball ? radius : Math.hypot(radius, half);
    this.eye = FAR * this.reach;
    const seen = 1 / Math.sqrt(FAR * FAR - 1);
    let [l, t, r, b] = ball ? [-seen, seen, seen, -BELOW * seen] : [0, 0, 0, 0];
    for (let k = 0; k < (ball ? 0 : 2 * RIM); k++) {
      const a = (2 * Math.PI * k) / RIM, [u, v, depth] = this.seen(x + radius * Math.cos(a), k < RIM ? low : high, z + radius * Math.sin(a)), size = 1 / (this.eye - depth);
      [l, r, t, b] = [Math.min(l, u * size), Math.max(r, u * size), Math.max(t, v * size), Math.min(b, v * size)];
    }
    this.focus = Math.min((right - left) / Math.max(r - l, 1e-9), (bottom - top) / Math.max(t - b, 1e-9));
    this.centre = [(left + right) / 2 - (this.focus * (l + r)) / 2, (top + bottom) / 2 + (this.focus * (t + b)) / 2];
  }

  // To the right, upwards and towards the eye from the middle, in m.
  seen(x, y, z) {
    const { right, up, back, middle } = this, px = x - middle[0], py = y - middle[1], pz = z - middle[2];
    return [right[0] * px + right[2] * pz, up[0] * px + up[1] * py + up[2] * pz, back[0] * px + back[1] * py + back[2] * pz];
  }

  place(x, y, z) {
    const [u, v, depth] = this.seen(x, y, z), size = (this.zoom * this.focus) / Math.max(0.02 * this.eye, this.eye - depth);
    return [this.zoom * this.centre[0] + this.x + size * u, this.zoom * this.centre[1] + this.y - size * v, depth, size];
  }

  // The point in space at a pixel, at the depth of a place.
  point([px, py], [, , depth, size]) {
    const u = (px - this.zoom * this.centre[0] - this.x) / size, v = -(py - this.zoom * this.centre[1] - this.y) / size;
    return [0, 1, 2].map((k) => this.middle[k] + u * this.right[k] + v * this.up[k] + depth * this.back[k]);
  }

  turn(dx, dy) {
    this.look(this.azimuth - dx, this.elevation + dy);
  }

  shift(dx, dy) {
    this.x += dx;
    this.y += dy;
  }

  closer(factor, px, py) {
    const zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.zoom * factor)), change = zoom / this.zoom;
    this.x = px - change * (px - this.x);
    this.y = py - change * (py - this.y);
    this.zoom = zoom;
  }

  home() {
    Object.assign(this, { zoom: 1, x: 0, y: 0 });
  }

  // From the front, as the plane is seen; from there back to the usual view.
  front() {
    this.look(...(this.azimuth === 0 && this.elevation === 0 ? OBLIQUE : [0, 0]));
  }
}
