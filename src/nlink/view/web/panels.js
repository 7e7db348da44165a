// The plots beside the stage: angles or rates, energy changes, a phase portrait, or the eigenvalues of modes.

import { PhasePlot, PlanePlot, TimePlot } from "./plots.js";
import { el, picture, select } from "./dom.js";
import { extent, intervalAt, valueText } from "./axes.js";
import { linkColours, tokens } from "./colours.js";

const DEGREE = 180 / Math.PI;
const MANY = 24;

function wrap(degrees) {
  return degrees - 360 * Math.ceil((degrees - 180) / 360);
}

// Whether an angle leaves +-180 degrees.
function turnsOver(theta) {
  const [low, high] = extent(theta);
  return low < -Math.PI || high > Math.PI;
}

function scaledBy(values, factor, change = (value) => value) {
  const out = new Float64Array(values.length);
  for (let k = 0; k < out.length; k++) out[k] = change(values[k] * factor);
  return out;
}

// Straight lines through (times, values), for readouts.
function between(times, values, t) {
  const low = intervalAt(times, t), high = Math.min(low + 1, times.length - 1);
  const h = times[high] - times[low], share = h ? Math.min(1, Math.max(0, (t - times[low]) / h)) : 0;
  return values[low] + share * (values[high] - values[low]);
}

// A plot with its title and legend.
export function card(title, canvas, ...controls) {
  const legend = el("div", { class: "legend" });
  const node = el("section", { class: "card", "aria-label": title }, el("header", {}, el("h2", {}, title), ...controls), legend, canvas);
  return { node, legend, title: node.querySelector("h2") };
}

// A piece of a line for the legend.
export function lineSample({ colour, dashes, width }) {
  const [svg, line] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
  const look = { d: "M0 3h28", stroke: `var(--${colour})`, "stroke-width": width, "stroke-dasharray": dashes.map((part) => part * width).join(" ") };
  for (const [name, value] of Object.entries(look)) line.setAttribute(name, value);
  svg.setAttribute("viewBox", "0 0 28 6");
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  return svg;
}

export class Panels {
  // seek(t) goes to a time, choose(k) shows another take, pick(i) chooses a link.
  constructor({ seek, choose, pick }) {
    this.pick = pick;
    this.quantity = "wrapped";
    this.angles = new TimePlot(picture("Angles of the links over time"), seek);
    this.energy = new TimePlot(picture("Changes of the energies over time"), seek);
    this.phase = new PhasePlot(picture("Angle against rate of one link"));
    this.phase.degreesY = true;
    this.plane = new PlanePlot(picture("Eigenvalues in the complex plane"), choose);
    this.which = select("Link", [], 0, (value) => pick(Number(value)));
    this.what = select("Quantity", [["wrapped", "angle \u00b1180\u00b0"], ["angle", "angle with turns"], ["rate", "rate"]], "wrapped", (value) => {
      this.quantity = value;
      this.showAngles();
    });
    this.cards = {
      energy: card("Energy changes (J)", this.energy.canvas),
      angles: card("Angles (\u00b0)", this.angles.canvas, this.what, this.which),
      phase: card("Phase portrait", this.phase.canvas),
      plane: card("Eigenvalues", this.plane.canvas),
    };
    this.values = el("span", {});
    this.trust = el("span", { class: "trust" });
    this.cards.angles.legend.append(this.values, this.trust);
    this.node = el("aside", { class: "plots", "aria-label": "Plots" }, ...Object.values(this.cards).map((each) => each.node));
  }

  show(take, motion, index, link) {
    Object.assign(this, { take, motion, link });
    this.what.value = this.quantity;
    this.which.replaceChildren(...Array.from({ length: motion.n }, (_, i) => el("option", { value: i }, motion.nameOf(i))));
    this.which.hidden = motion.n === 1;
    this.cards.energy.node.hidden = !take.energy;
    this.cards.plane.node.hidden = !take.plane;
    this.cards.phase.node.hidden = Boolean(take.plane);
    setText(this.trust, take.trusted === null ? "" : `trusted until ${valueText(take.trusted, 3)} s`);
    if (take.energy) this.showEnergy(take.energy);
    if (take.plane) this.plane.show(take.plane, index);
    this.showLink(link);
  }

  showLink(link) {
    Object.assign(this, { link, colours: tokens() });
    this.which.value = link;
    this.cards.phase.title.textContent = this.motion.n > 1 ? `Phase portrait of ${this.motion.nameOf(link)}` : "Phase portrait";
    this.showAngles();
    this.showPhase();
  }

  marks() {
    const { motion, take } = this;
    const trusted = take.trusted, backwards = motion.sign < 0;
    return { trusted, backwards, from: Math.min(motion.start, motion.end), to: Math.max(motion.start, motion.end) };
  }

  row(values, i) {
    return values.subarray(i * this.motion.count, (i + 1) * this.motion.count);
  }

  // The coordinates of the same kind as that of the chosen body: angles of links, displacements of sliders.
  showAngles() {
    const { motion, quantity, link } = this, n = motion.n, slides = motion.slides(link), rate = quantity === "rate", factor = slides ? 1 : DEGREE;
    const alike = Array.from({ length: n }, (_, i) => i).filter((i) => motion.slides(i) === slides);
    const wrapped = quantity === "wrapped" && !slides && alike.some((i) => turnsOver(this.row(motion.theta, i)));
    const colours = linkColours(n, this.colours.dark), change = wrapped ? wrap : undefined;
    const line = (i, strong) => ({
      t: motion.t, values: scaledBy(this.row(rate ? motion.omega : motion.theta, i), factor, change), colour: colours[i],
      period: wrapped ? 360 : undefined, width: strong ? 2 : n <= 6 ? 1.3 : n <= MANY ? 0.9 : 0.6, alpha: strong ? 1 : n <= 6 ? 0.75 : 0.5,
      now: strong ? () => (rate ? motion.rates[i] * factor : wrapped ? wrap(motion.angles[i] * DEGREE) : motion.angles[i] * factor) : null,
    });
    const count = alike.length, drawn = Math.min(count, MANY), pick = (k) => alike[Math.round(((drawn - 1 - k) * (count - 1)) / Math.max(1, drawn - 1))];
    const others = Array.from({ length: drawn }, (_, k) => pick(k)).filter((i) => i !== link);
    this.angles.show([...others.map((i) => line(i, false)), line(link, true)], this.marks(), { degrees: !rate && !slides, range: wrapped ? [-190, 190] : null });
    const name = slides ? "Sliders" : rate ? "Rates" : "Angles", unit = (slides ? "m" : "\u00b0") + (rate ? "/s" : "");
    this.what.options[0].text = slides ? "displacement" : "angle \u00b1180\u00b0";
    this.what.options[1].hidden = slides;
    this.cards.angles.title.textContent = name + (count > MANY ? ` of ${MANY} links` : ` (${unit})`);
    this.redraw?.();
  }

  showPhase() {
    const { motion, link } = this, slides = motion.slides(link), factor = slides ? 1 : DEGREE, theta = this.row(motion.theta, link);
    const degrees = scaledBy(theta, factor), wrapped = !slides && turnsOver(theta), change = wrapped ? wrap : (value) => value;
    Object.assign(this.phase, { degreesX: !slides, degreesY: !slides, unitX: slides ? " m" : "\u00b0" });
    this.phase.show({
      t: motion.t, angles: wrapped ? scaledBy(degrees, 1, wrap) : degrees, rates: scaledBy(this.row(motion.omega, link), factor), wrapped,
      colour: linkColours(motion.n, this.colours.dark)[link], now: () => [change(motion.angles[link] * factor), motion.rates[link] * factor],
    });
    this.redraw?.();
  }

  showEnergy({ t, kinetic, potential, total, work }) {
    const { curves, dashes } = tokens(), works = Object.entries(work).map(([name, values]) => [`work of ${name}`, values]);
    const rows = [["total", total], ["kinetic", kinetic], ["potential", potential], ...works];
    this.changes = rows.map(([name, values], k) => {
      const look = { colour: curves[k % curves.length], dashes: dashes[k % dashes.length], width: k ? 1.4 : 1.8 };
      return { name, t, values, ...look, value: el("b", {}), now: (at) => between(t, values, at) };
    });
    this.cards.energy.legend.replaceChildren(...this.changes.map((each) => el("span", { class: "key line" }, lineSample(each), `${each.name} `, each.value)));
    this.energy.show([...this.changes].reverse(), this.marks());
  }

  draw(t) {
    const { take, motion, link } = this;
    if (this.colours !== tokens()) this.showLink(link);
    this.angles.draw(t);
    if (take.energy) this.energy.draw(t);
    if (take.plane) this.drawPlane(t);
    else this.phase.draw(t);
    const slides = motion.slides(link), factor = slides ? 1 : DEGREE, angle = motion.angles[link] * factor, number = subscript(link + 1);
    const [letter, unit, dot, pace] = slides ? ["s", " m", "v", " m/s"] : ["\u03b8", "\u00b0", "\u03c9", "\u00b0/s"];
    const turned = valueText(this.quantity === "wrapped" && !slides ? wrap(angle) : angle, 4);
    setText(this.values, `${letter}${number} = ${turned}${unit}   ${dot}${number} = ${valueText(motion.rates[link] * factor, 4)}${pace}`);
    if (!take.plane) setText(this.cards.phase.legend, slides ? "displacement (m) across, velocity (m/s) up" : "angle (\u00b0) across, rate (\u00b0/s) up");
    if (take.energy) for (const each of this.changes) setText(each.value, valueText(each.now(t), 3));
  }

  drawPlane(t) {
    this.plane.draw(t);
    setText(this.cards.plane.legend, "growth (1/s) across, frequency (rad/s) up; shaded: decays");
  }
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function subscript(number) {
  return String(number).replace(/\d/g, (digit) => String.fromCharCode(0x2080 + Number(digit)));
}
