// The endless mode: the server goes on with the motion in real time, the page shows the last seconds of it, and the mouse pulls.

import { Series } from "./series.js";
import { linkCount } from "./model.js";
import { startFrom } from "./spaceposer.js";
import { el } from "/web/dom.js";
import { valueText } from "/web/axes.js";

// Seconds of the motion that are shown, and most numbers of them.
const WINDOW = 20;
const MOST = 150000;
const RATE = 60;
const SLOW = 1;

export class Endless {
  constructor(pane) {
    Object.assign(this, { pane, on: false });
    this.button = el("button", { type: "button", class: "word", "aria-pressed": "false", title: "Go on in real time without an end: pull the chain, change its loads", onclick: () => (this.on ? pane.stop() : this.start()) }, "Endless");
  }

  // Go on from the moment that is shown.
  start() {
    const { pane } = this, { player, studio } = pane, { motion } = player;
    studio.show("Motion");
    if (studio.error) {
      pane.why(studio.error);
      return;
    }
    const { endless: refused } = studio.valid.offers.refused;
    if (refused) {
      pane.say(refused);
      return;
    }
    if (pane.job) studio.line.drop(pane.job);
    motion.at(player.t);
    const begun = player.elapsed === 0 || motion.n !== studio.valid.chain.n;
    const start = begun ? studio.model.table.start : pane.inSpace ? startFrom(motion) : { theta: [...motion.angles], omega: [...motion.rates] };
    this.begin({ ...studio.model.table, start });
  }

  begin(table) {
    const { pane } = this;
    this.bodies = bodiesOf(pane.studio.valid.model);
    this.set(true);
    pane.next = null;
    pane.begin("endless", { model: table }, { table, hold: false, play: true, from: performance.now() });
    const { model, stand } = pane.studio.valid, rows = stand?.rows.length ?? linkCount(model);
    pane.series = new Series(Math.min(WINDOW, MOST / (RATE * rows)));
    pane.hand.tell("Pull any link; change loads on the way");
  }

  set(on) {
    this.on = on;
    this.button.setAttribute("aria-pressed", String(on));
    this.pane.player.root.classList.toggle("endless", on);
  }

  begun({ kept }) {
    if (this.on) this.kept = kept;
  }

  // The model has changed: tell the motion, if it is the same chain under other loads; else begin anew. False: not in this mode.
  take({ table, valid }) {
    if (!this.on) return false;
    const { pane } = this, bodies = bodiesOf(valid.model);
    if (bodies === this.bodies) pane.studio.line.tell(pane.job, { type: "model", model: table });
    else {
      pane.studio.line.drop(pane.job);
      this.begin(table);
    }
    return true;
  }

  pull(hand) {
    const { pane } = this;
    pane.hand.hint.hidden = true;
    pane.player.pullBy(hand, pane.studio.model.linkage);
    pane.studio.line.tell(pane.job, { type: "pull", hand });
  }

  // Points have come: show them in the next frame.
  show({ behind }) {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.draw());
    this.behind = behind;
  }

  draw() {
    this.waiting = 0;
    if (!this.on) return;
    const { pane, behind } = this, { series, player } = pane;
    if (series.count < 2) return;
    const take = series.take(pane.chain, 1), first = !pane.shows;
    if (first) {
      pane.shows = true;
      player.show({ title: pane.studio.model.table.title || "Chain", about: "", words: [], takes: [take] }, { hold: true });
      player.live = true;
      player.elapsed = 0;
      player.setPlaying(true);
    }
    player.follow(take);
    const slow = behind > SLOW ? `; ${valueText(behind, 2)} s behind real time` : "";
    pane.say(`endless: t = ${series.last.toFixed(1)} s, energy residual ${valueText(series.largest, 2)} J; the last ${Math.round(this.kept / 60)} min are kept as a run${slow}`);
    const now = performance.now();
    if (now - (this.drawn ?? 0) < 250) return;
    this.drawn = now;
    pane.showResidual(take.t, Float64Array.from(series.residual));
  }

  // The whole run has come: what waits to be shown is a part of it.
  settle() {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
  }

  ended() {
    if (!this.on) return;
    const { pane } = this;
    this.set(false);
    pane.player.pullBy(null);
    pane.hand.invite();
  }
}

function bodiesOf({ title, loads, run, ...bodies }) {
  return JSON.stringify(bodies);
}
