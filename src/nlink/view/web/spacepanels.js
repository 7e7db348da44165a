// The plots beside a stage in space: inclination, azimuth or rate of the links, energies, and the path of the tip seen from above.

import { Panels, setText } from "./panels.js";
import { PhasePlot } from "./plots.js";
import { extent, padded, valueText } from "./axes.js";
import { linkColours, tokens } from "./colours.js";

const IN_DEGREES = 180 / Math.PI;
const MOST = 24, POINTS = 1200;
const QUANTITIES = { inclination: "inclination", azimuth: "azimuth", rate: "rate" };
const LETTERS = { inclination: "\u03b8", azimuth: "\u03c6", rate: "\u03c9" };

// The path of a point in the plane of the floor, with equal scales; z comes towards the reader, downwards.
class FromAbove extends PhasePlot {
  draw(t) {
    const wide = this.canvas.clientWidth - 62, high = this.canvas.clientHeight - 30, half = this.reach / Math.max(1, Math.min(wide, high));
    [this.xr, this.yr] = [[-half * wide, half * wide], [half * high, -half * high]].map(([low, up]) => [Math.min(low, up), Math.max(low, up)]);
    super.draw(t);
  }

  lines(layer) {
    Object.assign(layer, { strokeStyle: this.colour, globalAlpha: 0.7, lineWidth: 1.1, lineJoin: "round" });
    this.path(layer, 0, this.t.length);
    layer.globalAlpha = 1;
  }

  // Upwards on the plot is away from the reader.
  py(z) {
    return super.py(-z);
  }
}

export class SpacePanels extends Panels {
  constructor(acts) {
    super(acts);
    this.quantity = "inclination";
    this.what.replaceChildren(...Object.entries(QUANTITIES).map(([value, name]) => new Option(name, value)));
    this.above = new FromAbove(this.phase.canvas);
    this.above.canvas.setAttribute("aria-label", "Path of the tip from above");
    Object.assign(this.above, { degreesX: false, degreesY: false, unitX: " m" });
    this.cards.phase.node.setAttribute("aria-label", "Path from above");
  }

  showLink(link) {
    Object.assign(this, { link, colours: tokens() });
    this.which.value = link;
    this.cards.phase.title.textContent = this.motion.n > 1 ? `End of link ${link + 1} from above` : "Tip from above";
    this.showAngles();
    this.showAbove();
  }

  // Times at which the plots follow the motion.
  times() {
    const { motion } = this, count = motion.span ? POINTS : 1;
    return Float64Array.from({ length: count }, (_, k) => motion.start + ((motion.end - motion.start) * k) / Math.max(1, count - 1));
  }

  value(i) {
    const { motion, quantity } = this;
    return IN_DEGREES * (quantity === "rate" ? motion.rates[i] : quantity === "azimuth" ? motion.azimuth(i) : motion.inclination(i));
  }

  showAngles() {
    const { motion, quantity, link } = this, n = motion.n, colours = linkColours(n, this.colours.dark), drawn = Math.min(n, MOST);
    const others = Array.from({ length: drawn }, (_, k) => Math.round(((drawn - 1 - k) * (n - 1)) / Math.max(1, drawn - 1))).filter((i) => i !== link);
    const links = [...others, link], t = this.times(), values = links.map(() => new Float64Array(t.length)), turns = quantity === "azimuth";
    t.forEach((time, k) => { motion.at(time); links.forEach((i, row) => { values[row][k] = this.value(i); }); });
    const line = (i, row) => ({
      t, values: values[row], colour: colours[i], period: turns ? 360 : undefined, width: i === link ? 2 : n <= 6 ? 1.3 : n <= MOST ? 0.9 : 0.6,
      alpha: i === link ? 1 : n <= 6 ? 0.75 : 0.5, now: i === link ? () => this.value(i) : null,
    });
    const whole = values.map((row) => extent(row.filter(Number.isFinite)));
    const range = turns ? [-190, 190] : padded(Math.min(0, ...whole.map((end) => end[0])), Math.max(1, ...whole.map((end) => end[1])));
    this.angles.show(links.map(line), this.marks(), { degrees: quantity !== "rate", range });
    const unit = quantity === "rate" ? "\u00b0/s" : "\u00b0", name = quantity[0].toUpperCase() + quantity.slice(1);
    this.cards.angles.title.textContent = n > MOST ? `${name} of ${MOST} links` : `${name} (${unit})`;
    this.redraw?.();
  }

  showAbove() {
    const { motion, link } = this, t = this.times(), x = new Float64Array(t.length), z = new Float64Array(t.length);
    t.forEach((time, k) => { motion.at(time); [x[k], z[k]] = [motion.x[link + 1], motion.z[link + 1]]; });
    this.above.reach = 1.08 * Math.max(1e-9, ...extent(x).map(Math.abs), ...extent(z).map(Math.abs));
    this.above.show({ t, angles: x, rates: z, now: () => [motion.x[link + 1], motion.z[link + 1]], colour: linkColours(motion.n, this.colours.dark)[link], wrapped: false });
    this.redraw?.();
  }

  draw(t) {
    const { take, motion, link } = this;
    if (this.colours !== tokens()) this.showLink(link);
    motion.at(t);
    this.angles.draw(t);
    if (take.plane) this.drawPlane(t);
    else this.above.draw(t);
    const number = String(link + 1).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit))), text = (name, value, unit) => `${LETTERS[name]}${number} = ${valueText(value, 4)}${unit}`;
    setText(this.values, [text("inclination", IN_DEGREES * motion.inclination(link), "\u00b0"), text("azimuth", IN_DEGREES * motion.azimuth(link), "\u00b0"), text("rate", IN_DEGREES * motion.rates[link], "\u00b0/s")].join("   "));
    setText(this.cards.phase.legend, "x (m) across, z (m) towards you");
    if (!take.energy) return;
    this.energy.draw(t);
    for (const each of this.changes) setText(each.value, valueText(each.now(t), 3));
  }
}
