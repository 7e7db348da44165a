// A chain that is simulated in the page, without a server: it can be grabbed and thrown, and its numbers changed while it moves.

import { Charts } from "./charts.js";
import { Controls } from "./controls.js";
import { Hand } from "./hand.js";
import { History } from "./history.js";
import { LiveStage } from "./livestage.js";
import { Simulation } from "./simulation.js";
import { Sharing, apply, read } from "./address.js";
import { button, checkbox, definitions, dialog, download, dropdown, el, fileName, headButtons, keyOf, select, showPlaying, viewTools, wantsCalm } from "./dom.js";
import { minus, valueText } from "./axes.js";
import { onTheme, toggleTheme } from "./colours.js";
import { setText } from "./panels.js";

const PACES = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
const TRACES = [0, 0.5, 1, 2, 5, 10];
// Points of the motion are kept every 10 ms, 20 s of them at least.
const INTERVAL = 0.01;
const KEPT = 2000;
// Milliseconds of a frame for the simulation, and between two drawings of the plots.
const BUDGET = 9;
const PLOTTED = 45;
const PATIENCE = 300;
// The longest time in s that a frame may stand for, and the share of the speed below which slow motion is told.
const LONGEST_FRAME = 0.25;
const SLOW = 0.8;
const STEP = 1 / 60;
const LIVE_KEYS = [
  ["Space", "play or pause"], ["\u2192", "one step on"], ["Home", "to the start"], ["r", "reset to the model"], [", .", "slower, faster"], ["g", "gather the near-copies"],
  ["n, Shift n", "next link, link before"], ["t", "longer trail, or none"], ["h", "hinges"], ["+ \u2212", "zoom in, out"], ["f", "fit"], ["d", "dark or light"],
  ["p", "save the frame as PNG"], ["s", "share"], ["i", "the model in words"], ["?", "this help"],
];
const HELP = "Take hold of a link while it moves: it follows your pointer as on a spring, and flies off when you let go. Pause, and a link that you drag is "
  + "posed: the chain starts from there. Every number beside the stage can be changed while the chain moves. Near-copies start a little apart; "
  + "in a chaotic motion they soon go their own ways. The residual is the change of energy that no load, nor your hand, accounts for: how far the "
  + "simulation is off. Drag beside the chain to move the view, wheel or pinch to zoom, double-click to fit.";

export class Live {
  // content: { title, summary, words, about, model }; equations: { derivative, energies }
  constructor(root, content, equations) {
    Object.assign(this, { root, content, playing: false, pace: PACES.indexOf(1), link: 0, plotted: 0, ratio: 1 });
    this.look = { trail: 1, hinges: true, centres: false, forces: true, colours: "link", style: "bar" };
    const { model } = content;
    this.history = new History({ ...model.chain }, KEPT);
    this.simulation = new Simulation(model, equations, { interval: INTERVAL, recorded: (t, y, energy) => this.history.record(t, y, energy), cleared: () => this.clear() });
    this.build();
    this.measure();
    this.stage.show(this.history);
    root.live = this;
    this.open();
    addEventListener("hashchange", () => this.open());
    document.addEventListener("keydown", (event) => this.key(event));
    onTheme(() => this.request());
    if (window.parent === window && !wantsCalm()) this.setPlaying(true);
  }

  build() {
    const { content, simulation } = this;
    this.stage = new LiveStage(el("canvas", { role: "img", tabindex: 0, "aria-label": `${content.title}: ${content.summary}` }), this.look, () => this.request());
    this.stage.simulation = simulation;
    this.stage.chosen = (link) => this.pick(link);
    this.charts = new Charts(this.history);
    this.controls = new Controls(simulation, {
      changed: (act) => this.change(() => simulation.change(act)),
      restarted: (act) => { act(); this.restart(); },
      gathered: (act) => this.gather(act),
      reset: () => this.reset(),
    });
    this.clock = el("div", { class: "clock", role: "timer" });
    this.note = el("p", { class: "note" });
    this.hint = el("p", { class: "hint" }, "Grab a link and throw it");
    this.said = el("p", { class: "hidden", role: "status", "aria-live": "polite" });
    this.help = dialog("Help and keys", el("p", {}, HELP), definitions(LIVE_KEYS));
    this.about = dialog("The model", definitions(content.words), el("p", { class: "made" }, content.about));
    this.sharing = new Sharing();
    this.root.classList.add("nlink", "live");
    this.root.replaceChildren(this.header(), this.controls.node, this.view(), this.charts.node, this.bar(), this.help, this.about, this.sharing.node, this.said);
    this.hand = new Hand(this.stage, {
      moves: () => this.playing,
      grab: (...grip) => { this.hint.hidden = true; simulation.grab(...grip); },
      drag: (x, y) => simulation.drag(x, y),
      release: () => simulation.release(),
      pose: (theta) => { this.hint.hidden = true; this.pose(theta); },
    });
    const resized = new ResizeObserver(() => this.request());
    for (const node of [this.stage.canvas, this.charts.node]) resized.observe(node);
  }

  header() {
    const { content } = this, buttons = headButtons("The model in words (i)", this);
    this.status = el("p", { class: "status", role: "alert" });
    if (window.parent === window) buttons.prepend(button("Share (s)", "share", () => this.sharing.show(this.simulation), { class: "quiet" }));
    return el("header", { class: "head" }, el("div", { class: "names" }, el("h1", {}, content.title), el("p", { class: "summary" }, content.summary), this.status), buttons);
  }

  view() {
    const tools = viewTools(this.stage, 1.3, "Save the frame as PNG (p)", () => this.save());
    return el("main", { class: "stage", "aria-label": "Stage" }, this.stage.canvas, el("div", { class: "times" }, this.clock, this.note), tools, this.hint);
  }

  bar() {
    this.playButton = button("Play (space)", "play", () => this.setPlaying(!this.playing), { class: "play" });
    this.paces = select("Speed", PACES.map((pace, k) => [k, `${pace}\u00d7`]), this.pace, (value) => this.setPace(Number(value)), "Speed (, .)");
    this.traces = select("Trail", TRACES.map((trail, k) => [k, trail ? `${trail} s` : "off"]), TRACES.indexOf(this.look.trail), (value) => this.setTrail(Number(value)), "Trail (t)");
    const set = (name) => (value) => { this.look[name] = value; this.request(); };
    this.hinges = checkbox("Hinges", this.look.hinges, set("hinges"));
    const look = dropdown("Look", "view",
      el("label", { class: "field" }, el("span", {}, "Links"), select("Shape of the links", [["bar", "bars"], ["line", "lines"]], this.look.style, set("style"))),
      el("label", { class: "field" }, el("span", {}, "Colours"), select("Colours of the links", [["link", "by link"], ["rate", "by rate"], ["plain", "one colour"]], this.look.colours, set("colours"))),
      this.hinges, checkbox("Centres of mass", this.look.centres, set("centres")), checkbox("Springs and forces", this.look.forces, set("forces")));
    return el("footer", { class: "bar" }, el("div", { class: "controls" },
      el("div", { class: "transport" }, button("To the start (Home)", "start", () => this.restart()), this.playButton, button("One step on (\u2192)", "forward", () => this.step())),
      el("label", { class: "field" }, el("span", {}, "Speed"), this.paces), el("label", { class: "field" }, el("span", {}, "Trail"), this.traces), look));
  }

  // Begin as the address says, or as the model.
  open() {
    const text = location.hash.slice(1);
    this.reset();
    try {
      apply(this.simulation, read(this.content.model, text));
      this.shown();
    } catch (error) {
      setText(this.status, `What stands behind # in the address is not of this page: ${error.message}. This is the model as it was made.`);
    }
  }

  reset() {
    setText(this.status, "");
    this.simulation.restore();
    this.restart();
  }

  restart() {
    this.hand.drop();
    this.simulation.restart();
    this.shown();
  }

  pose(theta) {
    this.simulation.origin = { theta: [...theta], omega: Array(theta.length).fill(0) };
    this.simulation.restart();
    this.shown();
  }

  gather(act) {
    act();
    this.simulation.gather();
    this.stage.clear();
    this.charts.clear();
    this.shown();
  }

  // Another motion begins.
  clear() {
    this.history.clear();
    this.stage?.clear();
    this.charts?.clear();
  }

  // Show what has been changed.
  change(act) {
    act();
    this.shown();
  }

  shown() {
    this.measure();
    this.controls.show();
    this.plotted = 0;
    this.request();
  }

  // The measures that the picture of the chain needs.
  measure() {
    const { values } = this.simulation, { chain } = this.history, spring = values["joint_spring.stiffness"], tip = [values["tip_force.fx"], values["tip_force.fy"]];
    const { length, mass, com, offset } = values;
    Object.assign(chain, {
      length, mass, com, offset, spring: spring.some(Boolean) ? spring : null, rest: values["joint_spring.rest"],
      tip: tip.some(Boolean) ? tip : null, follower: values.follower_force || null,
    });
  }

  setPlaying(playing) {
    if (playing === this.playing) return;
    this.hand.drop();
    Object.assign(this, { playing, last: undefined });
    showPlaying(this.playButton, playing);
    this.say(playing ? "playing" : `paused at ${this.timeText()}`);
    this.request();
  }

  setPace(k) {
    this.pace = Math.min(PACES.length - 1, Math.max(0, k));
    this.paces.value = this.pace;
    this.say(`speed ${PACES[this.pace]}`);
  }

  setTrail(k) {
    this.traces.value = k % TRACES.length;
    this.look.trail = TRACES[k % TRACES.length];
    this.request();
  }

  step() {
    this.setPlaying(false);
    this.simulation.aim(this.simulation.t + STEP * PACES[this.pace]);
    this.work(performance.now() + PATIENCE);
    this.say(this.timeText());
    this.request();
  }

  pick(link) {
    this.link = (link + this.history.n) % this.history.n;
    this.stage.picked = this.link;
    this.plotted = 0;
    this.request();
  }

  save() {
    download(this.stage.picture(this.simulation.t, this.content.title, `t = ${this.timeText()}`), fileName(this.content.title, ".png"));
  }

  timeText() {
    return `${minus(this.simulation.t.toFixed(2))} s`;
  }

  say(text) {
    this.said.textContent = text;
  }

  request() {
    if (!this.waiting) this.waiting = requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.waiting = 0;
    if (this.playing) this.advance(now);
    this.draw(now);
    if (this.playing) this.request();
  }

  // Ask for the motion up to now, and work on it for a part of the frame. What is not reached then is worked on in the next one.
  advance(now) {
    const { simulation } = this, wished = PACES[this.pace];
    const passed = this.last === undefined ? STEP : (now - this.last) / 1000, before = simulation.t;
    if (simulation.t >= simulation.goal) simulation.aim(simulation.t + Math.min(LONGEST_FRAME, passed) * wished);
    this.last = now;
    this.work(performance.now() + BUDGET);
    if (passed > 0 && passed < 1) this.ratio += passed * ((simulation.t - before) / (passed * wished) - this.ratio);
  }

  work(deadline) {
    const { simulation } = this;
    simulation.work(deadline);
    if (!simulation.failed) return;
    this.setPlaying(false);
    setText(this.status, `The motion cannot be followed beyond t = ${this.timeText()}: its numbers or its steps are out of bounds. Reset to the model, or choose other numbers.`);
  }

  draw(now = 0) {
    const { simulation, history } = this, { t, states: [state] } = simulation;
    history.show(t, state);
    this.stage.draw(t);
    setText(this.clock, this.timeText());
    setText(this.note, this.playing && this.ratio < SLOW ? `slow motion: ${valueText(this.ratio * PACES[this.pace], 1)}\u00d7` : "");
    if (now - this.plotted < PLOTTED && this.playing) return;
    this.plotted = now;
    this.charts.draw(t, { energy: simulation.energy(state), first: simulation.first, apart: simulation.apart(), link: this.link });
  }

  key(event) {
    const back = event.shiftKey ? -1 : 1, act = this.actions()[keyOf(event, this.root, "select, input:not([type=checkbox])")];
    if (!act) return;
    event.preventDefault();
    act(back);
  }

  actions() {
    return {
      " ": () => this.setPlaying(!this.playing), ArrowRight: () => this.step(), Home: () => this.restart(), r: () => this.reset(),
      ",": () => this.setPace(this.pace - 1), ".": () => this.setPace(this.pace + 1), g: () => this.gather(() => {}),
      n: (back) => this.pick(this.link + back), t: () => this.setTrail(TRACES.indexOf(this.look.trail) + 1), h: () => this.hinges.firstChild.click(),
      "+": () => this.stage.zoom(1.3), "=": () => this.stage.zoom(1.3), "-": () => this.stage.zoom(1 / 1.3), f: () => this.stage.fit(),
      d: toggleTheme, p: () => this.save(), s: () => this.sharing.show(this.simulation), i: () => this.about.showModal(), "?": () => this.help.showModal(),
    };
  }
}

new Live(document.getElementById("nlink"), JSON.parse(document.getElementById("nlink-data").textContent), EQUATIONS);
