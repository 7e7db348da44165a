// The plots of a motion that goes on: its energies over the last seconds, how far near-copies are apart, the phase portrait of a link.

import { PhasePlot, TimePlot } from "./plots.js";
import { card, lineSample, setText } from "./panels.js";
import { el, picture } from "./dom.js";
import { linkColours, tokens } from "./colours.js";
import { extent, roundStep, valueText } from "./axes.js";

// Seconds that are shown.
const WINDOW = 12;
const TURN = 360;
const HALF_TURN = 180;
const NARROW = 150;
// In the order of the colours and dashes of curves.
const LINES = ["total", "kinetic", "potential", "work"];

export class Charts {
  constructor(history) {
    this.history = history;
    this.energy = new TimePlot(picture("Changes of the energies over the last seconds"), () => {});
    this.phase = new PhasePlot(picture("Angle against rate of one link"));
    this.parting = new TimePlot(picture("Distance of the near-copies over the last seconds"), () => {});
    this.cards = {
      energy: card("Energy changes (J)", this.energy.canvas), parting: card("Near-copies apart (log\u2081\u2080 m)", this.parting.canvas), phase: card("Phase portrait", this.phase.canvas),
    };
    this.residual = el("b", {});
    const residual = el("span", { title: "The change of the total energy that is not the work of loads or of your hand: the error of the simulation" }, "residual ", this.residual);
    this.cards.energy.legend.append(residual);
    this.apart = el("b", {});
    this.cards.parting.legend.append(el("span", { class: "key accent" }, "largest distance of two tips ", this.apart));
    this.clear();
    setText(this.cards.phase.legend, "angle across, rate (rad/s) up");
    this.node = el("aside", { class: "plots", "aria-label": "Plots" }, ...Object.values(this.cards).map(({ node }) => node));
  }

  // The lines of the energies, named in the legend; called once the page has its colours.
  named() {
    const { curves, dashes } = tokens();
    const lines = LINES.map((name, k) => ({ name, colour: curves[k], dashes: dashes[k], width: k ? 1.4 : 1.8, value: el("b", {}) }));
    this.cards.energy.legend.prepend(...lines.map((line) => el("span", { class: "key line" }, lineSample(line), `${line.name} `, line.value)));
    return lines;
  }

  // Forget how far copies were apart.
  clear() {
    this.track = { t: [], values: [] };
  }

  // Draw up to the time t. Energies are those of this moment and of the start; `apart` is the distance of the copies in m, 0 without any.
  draw(t, { energy, first, apart, link }) {
    const { history } = this, part = history.since(t - WINDOW), change = (name) => energy[name] - first[name];
    this.keys ??= this.named();
    for (const { name, value } of this.keys) setText(value, valueText(change(name), 3));
    setText(this.residual, `${valueText(energy.residual, 2)} J`);
    if (part.t.length < 2) return;
    const line = (key) => ({ ...key, t: part.t, values: part.energy(key.name).map((value) => value - first[key.name]), now: () => change(key.name) });
    const to = Math.max(t, history.start + WINDOW);
    this.energy.show(this.keys.map(line).reverse(), { trusted: null, from: to - WINDOW, to });
    this.energy.draw(t);
    this.part(t, apart, to);
    this.portrait(part, link);
    this.phase.draw(t);
  }

  // The logarithm of the distance: where a small one grows exponentially, its line is straight.
  part(t, apart, to) {
    const { track, parting, cards } = this, now = Math.log10(apart);
    cards.parting.node.hidden = !apart;
    if (!apart) return;
    if (!track.t.length || t > track.t[track.t.length - 1]) {
      track.t.push(t);
      track.values.push(now);
    }
    const old = track.t.findIndex((time) => time >= to - WINDOW);
    for (const row of [track.t, track.values]) row.splice(0, old);
    setText(this.apart, `${valueText(apart, 2)} m`);
    const [low, high] = extent(track.values);
    parting.show([{ ...track, colour: "accent", width: 1.8, now: () => now }], { trusted: null, from: to - WINDOW, to }, { range: [Math.floor(low), Math.ceil(high + 0.1)] });
    parting.draw(t);
  }

  // The scale holds all since the start, so that it does not breathe; angles beyond half a turn come back at the other edge.
  portrait(part, link) {
    const { history, phase } = this, wide = history.far[link] * (HALF_TURN / Math.PI), wrapped = wide > NARROW;
    const change = (angle) => (wrapped ? angle - TURN * Math.ceil((angle - HALF_TURN) / TURN) : angle), { angles, rates } = history;
    setText(this.cards.phase.title, history.n > 1 ? `Phase portrait of link ${link + 1}` : "Phase portrait");
    phase.show({
      t: part.t, angles: part.degrees(link).map(change), rates: part.rates(link), wrapped, colour: linkColours(history.n, tokens().dark)[link],
      now: () => [change(angles[link] * (HALF_TURN / Math.PI)), rates[link]],
    });
    const x = wrapped ? HALF_TURN : roundStep(1.05 * wide || 1), y = roundStep(1.05 * history.fast[link] || 1);
    Object.assign(phase, { xr: [-x, x], yr: [-y, y] });
  }
}
