// The pane of the motion: pose the chain, run it and watch it being computed, play it.

import { LivePlayer, still } from "./live.js";
import { Pane } from "./pane.js";
import { Poser } from "./poser.js";
import { el, wantsCalm } from "/web/dom.js";
import { valueText } from "/web/axes.js";

const EVERY = 180;

export class MotionPane extends Pane {
  constructor(studio) {
    super(studio, { name: "Motion", kind: "run", go: "Run" });
    this.bar = el("div", { class: "progress", role: "progressbar", "aria-label": "Computed", "aria-valuemin": 0, "aria-valuemax": 100, hidden: true }, el("i", {}));
    this.hint = el("p", { class: "pose-hint" });
    this.posing = true;
  }

  // The chain in its start, ready to be posed.
  pose({ chain, model }) {
    const content = still(chain, model.start.theta, model.start.omega, model.title || "Chain");
    this.run = null;
    this.posing = true;
    if (this.player) this.player.show(content, { hold: !this.player.stage.fitted });
    else this.build(content);
    this.player.pause();
    this.showResidual([], []);
    this.mark();
  }

  build(content) {
    const root = el("div", { class: "player" });
    this.body.replaceChildren(root);
    this.player = new LivePlayer(root, content);
    this.player.root.querySelector(".stage").append(this.hint);
    this.poser = new Poser(this.player.stage, { active: () => this.posing && !this.job, pose: (theta, over) => this.studio.posed(theta, over) });
  }

  mark() {
    this.player.root.classList.toggle("posing", this.posing);
    this.hint.textContent = this.posing ? "Drag the links to pose the chain, then run it" : "";
  }

  // Angles while a link is dragged.
  preview(theta) {
    const take = this.player.shown;
    this.player.grow({ ...take, theta: Float64Array.from(theta) });
  }

  go() {
    super.go();
    if (!this.job) return;
    this.studio.show("Motion");
    this.points = { t: [], theta: [], omega: [], kinetic: [], potential: [], total: [], residual: [] };
    this.largest = 0;
    this.drawn = 0;
  }

  set(job) {
    super.set(job);
    this.button.disabled = Boolean(this.studio.error);
    this.bar.hidden = !job;
    this.progress(0);
  }

  progress(share) {
    this.bar.firstChild.style.width = `${100 * share}%`;
    this.bar.setAttribute("aria-valuenow", Math.round(100 * share));
  }

  part(message) {
    if (message.type === "begin") {
      this.chain = message.chain;
      this.until = message.t_end;
      this.say("preparing; the first run of a kind is compiled for this machine");
      this.posing = false;
      this.mark();
      this.player.live = true;
    } else if (message.type === "points") this.add(message);
    else if (message.type === "stopping") this.halted();
    else if (message.type === "model") this.studio.opened(message.model);
  }

  // No longer computed; the run is being kept, and comes in a moment.
  halted() {
    this.say("stopped; keeping what was computed");
    this.bar.hidden = true;
    Object.assign(this.button, { textContent: this.label, disabled: true });
    this.button.classList.remove("stop");
  }

  add(message) {
    const { points } = this;
    for (const key of Object.keys(points)) for (const value of message[key]) points[key].push(value);
    this.largest = message.residual.reduce((most, value) => Math.max(most, Math.abs(value)), this.largest);
    const reached = points.t[points.t.length - 1];
    this.progress(Math.abs(reached / this.until));
    this.say(`t = ${valueText(reached, 4)} of ${valueText(this.until, 4)} s, energy residual ${valueText(this.largest, 3)} J`);
    const now = performance.now();
    if (now - this.drawn < EVERY) return;
    this.drawn = now;
    this.grow();
  }

  grow() {
    const { points, chain } = this, count = points.t.length, fresh = this.player.motion.count === 1;
    if (count < 2) return;
    const rows = (values) => {
      const out = new Float64Array(chain.n * count);
      for (let k = 0; k < count; k++) for (let i = 0; i < chain.n; i++) out[i * count + k] = values[k][i];
      return out;
    };
    const t = Float64Array.from(points.t), energy = { t, kinetic: points.kinetic, potential: points.potential, total: points.total, work: {} };
    const take = { name: "", summary: "being computed", status: "", words: [], chain, t, theta: rows(points.theta), omega: rows(points.omega), energy, events: [], trusted: null, step: Math.abs(t[1] - t[0]) };
    if (fresh) this.player.elapsed = 0;
    this.player.grow(take);
    this.showResidual(t, Float64Array.from(points.residual));
    if (fresh && !wantsCalm()) this.player.play();
  }

  showResidual(t, values) {
    this.player.extra("Energy residual (J)", [{ name: "E(t) \u2212 E(0) \u2212 work", t, values, colour: "fifth" }]);
  }

  done(message, content, job) {
    const { told } = message;
    if (!this.player) return;
    this.player.live = false;
    this.posing = false;
    const playing = this.player.playing || !this.player.motion.span;
    this.player.show(content, { hold: true });
    this.showResidual(content.residual.t, content.residual.values);
    if (playing && !wantsCalm()) this.player.play();
    this.mark();
    this.run = { job, kept: told.kept, title: content.title };
    this.say(`${told.message}; energy residual at most ${valueText(told.residual, 3)} J; ${valueText(told.wall, 3)} s of work`);
  }

  // Ended with its process: what had come stays.
  stopped() {
    this.player.live = false;
    if (this.points?.t.length > 1) {
      this.grow();
      this.say(`stopped; computed until t = ${valueText(this.points.t[this.points.t.length - 1], 4)} s`);
    } else {
      this.say("stopped");
      this.studio.repose();
    }
  }

  fail(error) {
    this.player.live = false;
    this.showFailure(error, this.studio.editor.node);
    if (this.points?.t.length > 1) this.grow();
    else this.studio.repose();
  }

  open(name) {
    if (this.job) this.stop();
    this.clear();
    this.points = null;
    const job = this.studio.line.start("open", { name }, (message) => this.hear(job, message));
    this.set(job);
  }
}
