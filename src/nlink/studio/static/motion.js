// The pane of the motion: the model runs at each change, is watched while it is computed, and goes on from the pose in a hand.

import { Drive } from "./drive.js";
import { Endless } from "./endless.js";
import { Hand } from "./hand.js";
import { LivePlayer, LiveSpacePlayer, startOf, still } from "./live.js";
import { Pane } from "./pane.js";
import { Progress } from "./progress.js";
import { Series } from "./series.js";
import { Tools } from "./tools.js";
import { decoded } from "/web/data.js";
import { el, wantsCalm } from "/web/dom.js";
import { paceOf } from "/web/player.js";
import { valueText } from "/web/axes.js";

const EVERY = 180;
const SHARE = 5;
const PATIENCE = 250;
const QUICK = 200;
const IDLE = 1500;
const REACTION = 350;

export class MotionPane extends Pane {
  constructor(studio) {
    super(studio, { name: "Motion", kind: "run", go: "Run" });
    this.progress = new Progress("Computed");
    this.bar = this.progress.node;
    this.onward = el("button", { type: "button", class: "word", hidden: true, title: "Go on with the run that was stopped", onclick: () => this.goOn() }, "Go on");
    this.hand = new Hand(this);
    this.endless = new Endless(this);
    this.tools = new Tools(this);
    this.drive = new Drive(this);
    Object.assign(this, { next: null, run: null, shows: false, wishes: {} });
  }

  // Whether the stage shows a pose, not the motion: one in the hand, driven, or drawn on.
  get occupied() {
    return this.hand.full || this.drive.on || this.tools.tool !== "pose";
  }

  // The model is valid: run it. hold: keep the time that is shown; play: play from the start.
  renew(valid, { hold = true, play = null } = {}) {
    if (!this.player || Boolean(valid.chain.space) !== this.inSpace) this.build(valid);
    this.hand.other.hidden = !valid.chain.pin;
    const before = this.next;
    this.next = { valid, table: this.studio.model.table, hold: hold && (before?.hold ?? true), play: play ?? before?.play ?? null, from: performance.now() };
    if (this.job && !this.next.hold && !this.occupied && !this.endless.on) this.player.hold(startOf(valid)[0], valid.chain);
    if (this.endless.take(this.next)) this.next = null;
    else if (!this.job) this.launch();
    else if (this.shows || (this.compiling && this.unlike())) this.supersede();
  }

  // Whether the model that waits needs other code than the run that is being prepared.
  unlike() {
    return JSON.stringify(kindOf(this.next.table)) !== JSON.stringify(kindOf(this.under.table));
  }

  supersede() {
    this.studio.line.drop(this.job);
    this.set(null);
    this.launch();
  }

  launch() {
    if (!this.next || this.node.hidden) return;
    const { next } = this;
    this.next = null;
    this.begin("run", { model: next.table }, next);
  }

  // A run that takes its time shows its start, under the plots of the one before.
  showStart() {
    const { valid } = this.under;
    if (valid && !this.shows && !this.occupied) this.player.hold(startOf(valid)[0], valid.chain);
  }

  begin(kind, request, under) {
    Object.assign(this, { under, series: new Series(), shows: false, compiling: false, run: null, drawn: 0, cost: 0 });
    this.onward.hidden = true;
    clearTimeout(this.idle);
    this.clear();
    const job = this.studio.line.start(kind, request, (message) => this.hear(job, message));
    this.set(job);
  }

  // A player of the kind that shows this model.
  build(valid) {
    const root = el("div", { class: "player" }), content = still(valid, valid.model.title || "Chain");
    if (this.player) this.retire();
    this.inSpace = Boolean(valid.chain.space);
    this.body.replaceChildren(root);
    this.player = new (this.inSpace ? LiveSpacePlayer : LivePlayer)(root, content);
    this.tools.attach(this.player);
    if (!this.inSpace) this.drive.attach(this.player, this.tools.node);
    this.hand.attach(this.player);
  }

  // A stage to draw linkages on, whatever stands there.
  flatten() {
    if (!this.inSpace) return;
    const chain = { n: 1, length: [1], mass: [1], com: [0.5], offset: [0], point: [false], pin: null };
    this.build({ chain, model: { title: "", start: { theta: [0], omega: [0] } } });
  }

  // The player before shows models of another kind: nothing of it goes on.
  retire() {
    this.tools.choose("pose");
    this.drive.stop();
    this.player.pause();
    this.player.retired = true;
    if (this.job) this.studio.line.drop(this.job);
    this.set(null);
  }

  go() {
    this.studio.show("Motion");
    if (this.studio.error) this.why(this.studio.error);
    else this.renew(this.studio.valid, { hold: false, play: !wantsCalm() });
  }

  goOn() {
    const { run } = this;
    this.begin("continue", run.name ? { name: run.name } : { run: run.job }, { ...this.under, hold: true, play: null });
  }

  // The button says Stop only once a run takes long; who presses just then has meant Run.
  press() {
    if (!this.job || !this.turned) this.go();
    else if (performance.now() - this.turned > REACTION) this.stop();
  }

  stop() {
    this.next = null;
    super.stop();
  }

  shown() {
    if (this.next && !this.job) this.launch();
  }

  // A quick run is no reason for buttons and words to change.
  set(job) {
    clearTimeout(this.busy);
    this.job = job;
    this.turned = 0;
    if (job) this.busy = setTimeout(() => this.showBusy(), QUICK);
    else this.showIdle();
  }

  showBusy() {
    this.turned = performance.now();
    super.set(this.job);
    if (!this.endless.on && !this.under.hold) this.showStart();
    this.bar.hidden = this.endless.on;
    if (this.words) this.say(this.words);
  }

  showIdle() {
    this.turned = 0;
    super.set(null);
    this.button.disabled = Boolean(this.studio.error);
    this.bar.hidden = true;
    this.words = "";
    this.progress.show(0);
  }

  // Words about what is being computed; shown once it takes long enough to read them.
  tellWork(text) {
    this.words = text;
    if (!this.bar.hidden) this.say(text);
  }

  async hear(job, message) {
    if (job !== this.job) return;
    const { type } = message;
    if (type === "content") {
      this.coming = decoded(message);
      const content = await this.coming;
      if (job === this.job) this.complete(message.told, content);
    } else {
      if (type === "done") await this.coming;
      if (type === "queued") this.tellWork(`waiting, place ${message.place} in line`);
      else if (type === "started") this.tellWork("preparing");
      else await super.hear(job, message);
    }
  }

  part(message) {
    if (message.type === "begin") {
      Object.assign(this, { chain: message.chain, until: message.t_end });
      this.endless.begun(message);
    } else if (message.type === "compiling") {
      this.compiling = true;
      this.tellWork(message.text);
      this.progress.show(null);
      if (this.next && this.unlike()) this.supersede();
    } else if (message.type === "points") this.add(message);
    else if (message.type === "stopping") this.halted();
    else if (message.type === "model") this.studio.opened(message.model);
    else if (message.type === "refused") this.showFailure(message, this.studio.editor.node);
  }

  // No longer computed; the run is being kept, and comes in a moment.
  halted() {
    this.say("stopped; keeping what was computed");
    this.bar.hidden = true;
    Object.assign(this.button, { textContent: this.label, disabled: true });
    this.button.classList.remove("stop");
  }

  add(message) {
    this.compiling = false;
    this.series.add(message);
    if (this.endless.on) {
      this.endless.show(message);
      return;
    }
    const reached = this.series.last;
    this.progress.show(Math.abs(reached / this.until));
    this.tellWork(`t = ${valueText(reached, 4)} of ${valueText(this.until, 4)} s, energy residual ${valueText(this.series.largest, 3)} J`);
    const now = performance.now();
    if (this.shows && now - this.drawn < Math.max(EVERY, SHARE * this.cost)) return;
    this.draw(now);
    this.cost = performance.now() - now;
    if (this.shows && this.next) this.supersede();
  }

  // Show what has come. The motion before stays until the new one has reached its time, or is slow to.
  draw(now) {
    const { series, player, under } = this;
    if (series.count < 2) return;
    if (!this.shows && under.hold && Math.abs(series.last) < player.elapsed && now - under.from < PATIENCE) return;
    const take = series.take(this.chain, paceOf(Math.abs(this.until)));
    this.drawn = now;
    if (this.shows) player.grow(take);
    else this.showFirst({ title: this.studio.model.table.title || "Chain", about: "", words: [], takes: [take] });
    player.live = true;
    this.showResidual(take.t, Float64Array.from(series.residual));
  }

  showFirst(content) {
    const { player, under } = this, opening = player.motion.count === 1;
    this.shows = true;
    if (!this.occupied) player.hold(null);
    player.show(content, { hold: true });
    if (!under.hold) player.elapsed = 0;
    const play = this.wishes.play ?? under.play ?? (opening ? true : null);
    this.wishes = {};
    if (play !== null && !wantsCalm() && !this.occupied) player.setPlaying(play && player.motion.span > 0);
    requestAnimationFrame(() => { this.latency = performance.now() - under.from; });
  }

  showResidual(t, values) {
    this.player.extra("Energy residual (J)", [{ name: "E(t) \u2212 E(0) \u2212 work", t, values, colour: "fifth" }], { last: true });
  }

  // The whole run has come.
  complete(told, content) {
    const { player } = this;
    this.endless.settle();
    player.live = false;
    if (this.shows || this.endless.on) player.show(content, { hold: true });
    else this.showFirst(content);
    if (this.endless.on) {
      player.pause();
      player.jump(player.motion.span);
    }
    this.showResidual(content.residual.t, content.residual.values);
    this.told = `${told.message}; energy residual at most ${valueText(told.residual, 3)} J${this.endless.on ? "" : `; ${valueText(told.wall, 3)} s of work`}`;
    this.title = content.title;
    this.studio.editor.tellMethod(told.integrator);
  }

  done(message, content, job) {
    this.run = { job, kept: message.kept, title: this.title, name: this.opens };
    this.opens = "";
    this.onward.hidden = !message.resumable;
    if (!this.studio.error) this.say(this.told);
    this.follow();
    if (!this.job) this.idle = setTimeout(() => this.prepare(), IDLE);
  }

  // Go on with the model that waits.
  follow() {
    if (this.player) this.player.live = false;
    this.endless.ended();
    if (this.studio.error) this.why(this.studio.error);
    if (this.next) this.launch();
    else this.calm();
  }

  // Nothing new is on its way: the chain is shown as it moves.
  calm() {
    const { player } = this;
    if (!player || this.next || this.occupied || (this.job && !this.shows)) return;
    player.hold(null);
    if (this.wishes.play && !player.playing) {
      player.jump(0);
      player.play();
    }
    this.wishes = {};
  }

  // While nobody waits: what the next changes need is compiled.
  prepare() {
    const { table } = this.studio.model, kind = JSON.stringify(kindOf(table));
    if (this.job || this.studio.error || kind === this.prepared || this.endless.on) return;
    this.prepared = kind;
    this.studio.line.start("prepare", { model: table }, () => {});
  }

  // Ended with its process: what had come stays.
  stopped() {
    if (this.series?.count > 1) {
      this.draw(Infinity);
      this.say(`stopped; computed until t = ${valueText(this.series.last, 4)} s`);
    } else this.say("stopped");
    this.follow();
  }

  fail(error) {
    this.showFailure(error, this.studio.editor.node);
    this.player?.hold(null);
    this.follow();
  }

  // Why the model cannot run, beside the button that is disabled.
  why({ text }) {
    this.button.disabled = !this.job;
    this.say(`Cannot run: ${text}`);
  }

  open(name) {
    if (this.job) this.studio.line.drop(this.job);
    this.endless.ended();
    this.next = null;
    this.opens = name;
    this.begin("open", { name }, { table: this.studio.model.table, hold: false, play: true, from: performance.now() });
  }
}

// What of a model decides which code it needs.
function kindOf({ links, loads, pin, run }) {
  return [Array.isArray(links) ? links.length : links, Object.keys(loads || {}), Boolean(pin), run?.formulation, run?.integrator];
}
