// Compact plots on canvas that follow the time: a still layer, drawn when data or size change, and a moving cursor over it.

import { extent, intervalAt, multiples, padded, tickStep, tickText } from "./axes.js";
import { drawDisc, drawLine, placeIn, sized } from "./dom.js";
import { tokens } from "./colours.js";

const LEFT = 46, RIGHT = 16, TOP = 8, BOTTOM = 22;

// What plots share: axes, the still layer, and where a value lies.
export class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.still = document.createElement("canvas");
    this.stale = true;
  }

  px(x) {
    return LEFT + ((x - this.xr[0]) / (this.xr[1] - this.xr[0])) * (this.width - LEFT - RIGHT);
  }

  py(y) {
    return TOP + ((this.yr[1] - y) / (this.yr[1] - this.yr[0])) * (this.height - TOP - BOTTOM);
  }

  // Draw at the time t: the still layer, then whatever moves.
  draw(t) {
    const { context, width, height } = sized(this.canvas), colours = tokens();
    if (this.stale || this.colours !== colours || this.width !== width || this.height !== height || this.still.width !== this.canvas.width) {
      Object.assign(this, { width, height, colours, stale: false });
      [this.still.width, this.still.height] = [this.canvas.width, this.canvas.height];
      const layer = this.still.getContext("2d");
      layer.setTransform(context.getTransform());
      this.axes(layer);
      layer.save();
      layer.beginPath();
      layer.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
      layer.clip();
      this.lines(layer);
      layer.restore();
    }
    context.clearRect(0, 0, width, height);
    context.drawImage(this.still, 0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(LEFT - 5, TOP - 5, width - LEFT - RIGHT + 10, height - TOP - BOTTOM + 10);
    context.clip();
    this.cursor(context, t);
    context.restore();
  }

  axes(layer) {
    const { width, height, colours, xr, yr } = this;
    layer.clearRect(0, 0, width, height);
    const xstep = tickStep(...xr, Math.max(2, (width - LEFT - RIGHT) / 64), this.degreesX);
    const ystep = tickStep(...yr, Math.max(2, (height - TOP - BOTTOM) / 21), this.degreesY);
    Object.assign(layer, { font: `10.5px ${colours.font}`, fillStyle: colours.muted, textAlign: "center", textBaseline: "top" });
    for (const x of multiples(...xr, xstep)) {
      const at = Math.round(this.px(x)) + 0.5, unit = this.unitX || "";
      drawLine(layer, [at, TOP], [at, height - BOTTOM], colours.lines, 1);
      if (at < width - 8) layer.fillText(tickText(x, xstep) + (Math.abs(x) < xstep / 2 ? unit : ""), at, height - BOTTOM + 6);
    }
    Object.assign(layer, { textAlign: "right", textBaseline: "middle" });
    for (const y of multiples(...yr, ystep)) {
      const at = Math.round(this.py(y)) + 0.5;
      drawLine(layer, [LEFT, at], [width - RIGHT, at], colours.lines, 1);
      layer.fillText(tickText(y, ystep), LEFT - 6, at);
    }
  }

  dot(context, x, y, colour, radius) {
    drawDisc(context, [this.px(x), this.py(y)], radius + 1.4, this.colours.panel);
    drawDisc(context, [this.px(x), this.py(y)], radius, colour);
  }

  // A line through the points from..to of (x, y), with a gap where y is NaN. Where a value that is wrapped to a period jumps by more than half of it, the
  // line leaves at one edge and comes back at the other.
  polyline(layer, x, y, from, to, { periodX = Infinity, periodY = Infinity } = {}) {
    layer.beginPath();
    for (let k = from; k < to; k++) {
      if (Number.isNaN(y[k])) continue;
      if (k > from && Number.isNaN(y[k - 1])) layer.moveTo(this.px(x[k]), this.py(y[k]));
      const dx = k > from ? turn(x[k] - x[k - 1], periodX) : 0, dy = k > from ? turn(y[k] - y[k - 1], periodY) : 0;
      if (dx || dy) {
        layer.lineTo(this.px(x[k] - dx), this.py(y[k] - dy));
        layer.moveTo(this.px(x[k - 1] + dx), this.py(y[k - 1] + dy));
      }
      layer.lineTo(this.px(x[k]), this.py(y[k]));
    }
    layer.stroke();
  }
}

// The whole turns in a step between two wrapped values.
function turn(step, period) {
  return Math.abs(step) > period / 2 ? Math.sign(step) * period : 0;
}

// Lines over time; a press or a drag on it goes to that time.
export class TimePlot extends Plot {
  constructor(canvas, seek) {
    super(canvas);
    this.unitX = " s";
    const go = (event) => {
      const share = (placeIn(canvas, event)[0] - LEFT) / (canvas.clientWidth - LEFT - RIGHT);
      seek(this.xr[0] + Math.min(1, Math.max(0, share)) * (this.xr[1] - this.xr[0]));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) go(event); });
    canvas.style.touchAction = "pan-y";
  }

  // series: [{ name, colour, t, values, width, dashes, period }], the last ones on top; marks: { trusted, from, to, critical: [x] }.
  show(series, marks, { degrees = false, range = null } = {}) {
    this.series = series;
    this.marks = marks;
    this.degreesY = degrees;
    this.xr = marks.to > marks.from ? [marks.from, marks.to] : [marks.from - 1, marks.from + 1];
    const ends = series.map((line) => extent(line.values));
    this.yr = range || padded(Math.min(...ends.map((end) => end[0])), Math.max(...ends.map((end) => end[1])));
    this.stale = true;
  }

  lines(layer) {
    const { marks, colours } = this;
    markTrusted(this, layer, marks);
    layer.setLineDash([5, 4]);
    for (const x of marks.critical ?? []) drawLine(layer, [this.px(x), TOP], [this.px(x), this.height - BOTTOM], colours.ink, 1.4);
    layer.setLineDash([]);
    layer.lineJoin = "round";
    for (const line of this.series) {
      const width = line.width || 1.4;
      Object.assign(layer, { strokeStyle: colours[line.colour] || line.colour, lineWidth: width, globalAlpha: line.alpha ?? 1 });
      layer.setLineDash((line.dashes || []).map((part) => part * width));
      this.polyline(layer, line.t, line.values, 0, line.t.length, { periodY: line.period });
    }
    layer.setLineDash([]);
    layer.globalAlpha = 1;
  }

  cursor(context, t) {
    drawLine(context, [this.px(t), TOP], [this.px(t), this.height - BOTTOM], this.colours.ink, 1);
    for (const line of this.series) if (line.now) this.dot(context, t, line.now(t), this.colours[line.colour] || line.colour, 3);
  }
}

// Shade what lies beyond the trusted time, behind a dashed line.
function markTrusted(plot, layer, { trusted, from, to, backwards }) {
  if (trusted === null || trusted === undefined) return;
  const at = plot.px(trusted), edge = plot.px(backwards ? from : to);
  Object.assign(layer, { fillStyle: plot.colours.muted, globalAlpha: 0.13 });
  layer.fillRect(Math.min(at, edge), TOP, Math.abs(edge - at), plot.height);
  layer.globalAlpha = 1;
  layer.setLineDash([5, 4]);
  drawLine(layer, [at, TOP], [at, plot.height], plot.colours.warn, 1.3);
  layer.setLineDash([]);
}

// Angle against rate of one link: the whole path faint, the last of it strong, a dot for now.
export class PhasePlot extends Plot {
  constructor(canvas) {
    super(canvas);
    this.degreesX = true;
    this.unitX = "\u00b0";
  }

  // angles in degrees, rates, at times t; now(t) -> [angle, rate]; wrapped: angles jump at +-180.
  show({ t, angles, rates, now, colour, wrapped }) {
    Object.assign(this, { t, angles, rates, now, colour, period: wrapped ? 360 : Infinity });
    this.xr = wrapped ? [-180, 180] : padded(...extent(angles));
    this.yr = padded(...extent(rates));
    this.stale = true;
  }

  path(context, from, to) {
    this.polyline(context, this.angles, this.rates, from, to, { periodX: this.period });
  }

  lines(layer) {
    Object.assign(layer, { strokeStyle: this.colour, globalAlpha: this.colours.dark ? 0.5 : 0.4, lineWidth: 1, lineJoin: "round" });
    this.path(layer, 0, this.t.length);
    layer.globalAlpha = 1;
  }

  cursor(context, t) {
    const count = this.t.length, next = intervalAt(this.t, t) + 1, sign = Math.sign(this.t[count - 1] - this.t[0]);
    const until = sign * (t - this.t[next]) >= 0 ? next + 1 : next;
    Object.assign(context, { strokeStyle: this.colour, lineWidth: 1.8 });
    this.path(context, Math.max(0, until - Math.max(12, Math.round(count / 25))), until);
    this.dot(context, ...this.now(t), this.colours.accent, 4.2);
  }
}

// Points of the complex plane, one of them chosen; those to the right of zero stand out.
export class PlanePlot extends Plot {
  constructor(canvas, choose) {
    super(canvas);
    canvas.addEventListener("click", (event) => {
      const [x, y] = placeIn(canvas, event), far = (point) => Math.hypot(this.px(point.x) - x, this.py(point.y) - y);
      const nearest = this.points.reduce((best, point, k) => (far(point) < far(this.points[best]) ? k : best), 0);
      if (far(this.points[nearest]) < 30) choose(this.points[nearest].take);
    });
  }

  // points: [{ x, y, take, grows }]; chosen: a take.
  show(points, chosen) {
    Object.assign(this, { points, chosen });
    const reach = Math.max(...points.map((p) => Math.abs(p.y)), 0), wide = Math.max(...points.map((p) => Math.abs(p.x)), 0);
    const least = 0.06 * Math.max(reach, wide) || 1;
    this.xr = padded(Math.min(-least, ...points.map((p) => p.x)), Math.max(least, ...points.map((p) => p.x)), 0.08);
    this.yr = padded(-Math.max(reach, least), Math.max(reach, least), 0.08);
    this.stale = true;
  }

  lines(layer) {
    Object.assign(layer, { fillStyle: this.colours.second, globalAlpha: 0.1 });
    layer.fillRect(0, 0, this.px(0), this.height);
    layer.globalAlpha = 1;
    drawLine(layer, [this.px(0), TOP], [this.px(0), this.height - BOTTOM], this.colours.muted, 1);
    for (const point of this.points) this.dot(layer, point.x, point.y, point.grows ? this.colours.accent : this.colours.second, 3.2);
  }

  cursor(context) {
    Object.assign(context, { strokeStyle: this.colours.ink, lineWidth: 2 });
    for (const point of this.points.filter((each) => each.take === this.chosen)) {
      context.beginPath();
      context.arc(this.px(point.x), this.py(point.y), 7, 0, 2 * Math.PI);
      context.stroke();
    }
  }
}
