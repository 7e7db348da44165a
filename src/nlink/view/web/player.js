// The player: a stage, a timeline, plots and their controls, mounted into any element; for runs and for modes.

import { Keeping } from "./keeping.js";
import { Motion } from "./motion.js";
import { Panels, setText } from "./panels.js";
import { Stage } from "./stage.js";
import { Timeline } from "./timeline.js";
import { button, checkbox, definitions, dialog, download, dropdown, el, fileName, headButtons, keyOf, select, showPlaying, viewTools, wantsCalm } from "./dom.js";
import { clockDecimals, minus, roundStep, valueText } from "./axes.js";
import { onTheme, toggleTheme } from "./colours.js";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10];
const TRAILS = [0, 0.25, 0.5, 1, 2, 5, 10, Infinity];
const KEYS = [
  ["Space", "play or pause"], ["\u2190 \u2192", "one step back or on"], ["Shift \u2190 \u2192", "a twentieth of the run"], ["Home, End", "to the start, to the end"],
  [", .", "slower, faster"], ["l", "loop"], ["e, Shift e", "next event, event before"], ["n, Shift n", "next link, link before"], ["t", "longer trail, or none"], ["o", "trail of the chosen link"],
  ["h", "hinges"], ["c", "colours of the links"], ["+ \u2212", "zoom in, out"], ["f", "fit"], ["m", "next mode"], ["d", "dark or light"],
  ["p", "save the frame as PNG"], ["i", "the model in words"], ["?", "these keys"],
];

export class Player {
  // content: { title, summary, words, about, takes }, decoded; options: { autoplay, header }
  constructor(root, content, { autoplay = false, header = true } = {}) {
    Object.assign(this, { root, content, elapsed: 0, playing: false, speed: SPEEDS.indexOf(1), link: 0 });
    if (content.look?.trail !== undefined) this.wished = [content.look.trail];
    this.look = { trail: 1, hinges: true, centres: false, forces: true, colours: "link", style: "bar", ...content.look };
    this.build(header);
    const resized = new ResizeObserver(() => this.request());
    for (const node of [this.stage.canvas, this.panels.node]) resized.observe(node);
    document.addEventListener("keydown", (event) => this.key(event));
    onTheme(() => this.request());
    root.player = this;
    this.take(0);
    if (autoplay && !wantsCalm()) this.play();
  }

  build(header) {
    const { content } = this;
    this.stage = this.stageOn(el("canvas", { role: "img", tabindex: 0 }), this.look, () => this.request());
    this.stage.chosen = (link) => this.pick(link);
    this.panels = this.panelsFor({ seek: (t) => this.seek(t), choose: (k) => this.take(k), pick: (i) => this.pick(i) });
    this.panels.redraw = () => this.request();
    this.timeline = new Timeline((share) => this.jump(share * this.motion.span));
    this.clock = el("div", { class: "clock", role: "timer" });
    this.note = el("p", { class: "note" });
    this.said = el("p", { class: "hidden", role: "status", "aria-live": "polite" });
    this.help = dialog("Keys", definitions([...KEYS, ...this.moreKeys()]), el("p", {}, `On the stage: ${this.onStage()}, tap a link to choose it. On a plot over time: press to go there.`));
    this.facts = el("div", {});
    this.about = dialog("Model and run", this.facts, el("p", { class: "made" }, content.about));
    this.root.classList.add("nlink");
    this.root.replaceChildren(...(header ? [this.header()] : []), this.view(header), this.panels.node, this.bar(), this.help, this.about, ...(header ? [this.keeping.node] : []), this.said);
  }

  header() {
    this.summary = el("p", { class: "summary" });
    this.status = el("p", { class: "status", role: "note" });
    const takes = this.content.takes.map((take, k) => [k, take.name]);
    this.chooser = takes.length > 1 ? select("Mode", takes, 0, (k) => this.take(Number(k))) : null;
    return el("header", { class: "head" },
      el("div", { class: "names" }, el("h1", {}, this.content.title), this.summary, this.status), this.chooser, this.headButtons());
  }

  headButtons() {
    const buttons = headButtons("Model and run in words (i)", this);
    this.keeping = new Keeping(this);
    buttons.prepend(this.keeping.button);
    return buttons;
  }

  view(alone) {
    const tools = viewTools(this.stage, 1.3, "Save the frame as PNG (p)", () => this.save());
    return el(alone ? "main" : "section", { class: "stage", "aria-label": "Stage" }, this.stage.canvas, el("div", { class: "times" }, this.clock, this.note), tools);
  }

  bar() {
    const play = button("Play (space)", "play", () => this.toggle(), { class: "play" });
    this.playButton = play;
    this.loopButton = button("Loop (l)", "loop", () => this.setLoop(!this.loop), { class: "toggle", "aria-pressed": "false" });
    this.speeds = select("Speed", [], 0, (value) => this.setSpeed(Number(value)), "Speed (, .)");
    return el("footer", { class: "bar" }, this.timeline.node,
      el("div", { class: "controls" },
        el("div", { class: "transport" }, button("To the start (Home)", "start", () => this.jump(0), { class: "first" }),
          button("One step back (\u2190)", "back", () => this.step(-1)), play, button("One step on (\u2192)", "forward", () => this.step(1)), this.loopButton),
        el("label", { class: "field" }, el("span", {}, "Speed"), this.speeds), this.menu()));
  }

  menu() {
    this.trails = select("Trail", [], 0, (value) => this.setTrail(Number(value)), "Trail (t)");
    const set = (name) => (value) => { this.look[name] = value; this.request(); };
    this.colourBox = select("Colours of the links (c)", [["link", "by link"], ["rate", "by rate"], ["plain", "one colour"]], this.look.colours, set("colours"));
    this.hingeBox = checkbox("Hinges", this.look.hinges, set("hinges"));
    this.centreBox = checkbox("Centres of mass", this.look.centres, set("centres"));
    return dropdown("Look", "view",
      el("label", { class: "field" }, el("span", {}, "Links"), select("Shape of the links", [["bar", "bars"], ["line", "lines"]], this.look.style, set("style"))),
      el("label", { class: "field" }, el("span", {}, "Colours"), this.colourBox),
      el("label", { class: "field" }, el("span", {}, "Trail"), this.trails),
      this.hingeBox, this.centreBox, checkbox("Springs and forces", this.look.forces, set("forces")));
  }

  stageOn(...given) {
    return new Stage(...given);
  }

  panelsFor(acts) {
    return new Panels(acts);
  }

  moreKeys() {
    return [];
  }

  onStage() {
    return "drag to move, wheel or pinch to zoom, double-click to fit";
  }

  motionOf({ chain, t, theta, omega }) {
    return new Motion(chain, t, theta, omega);
  }

  // Show one of the takes from its start.
  take(k) {
    const take = this.content.takes[k], same = this.shown && take.chain.n === this.shown.chain.n;
    this.shown = take;
    this.index = k;
    this.motion = this.motionOf(take);
    this.elapsed = 0;
    this.link = same ? this.link : this.firstOf(take);
    this.rate = take.rate || paceOf(this.motion.span);
    this.lengths = [...new Set([...TRAILS.map((trail) => trail * this.rate), ...(this.wished ?? [])])].sort((a, b) => a - b);
    this.decimals = clockDecimals(this.motion.span);
    this.setLoop(this.loop ?? true);
    this.fillSpeeds();
    this.look.centres = this.look.centres || take.chain.offset.some((offset) => offset !== 0);
    this.centreBox.firstChild.checked = this.look.centres;
    this.stage.show(this.motion);
    this.panels.show(take, this.motion, k, this.link);
    this.tell();
    this.request();
  }

  // The link whose plots are shown at first.
  firstOf({ chain }) {
    return Math.max(0, chain.length.findIndex((length) => length > 0));
  }

  tell() {
    const { shown, motion, content } = this;
    const share = (t) => (motion.span ? Math.abs(t - motion.start) / motion.span : 0);
    const trusted = shown.trusted === null ? null : share(shown.trusted);
    this.timeline.show({ ticks: shown.events.map((event) => share(event.t)), trusted, still: !motion.span });
    this.playButton.disabled = !motion.span;
    if (this.chooser) this.chooser.value = this.index;
    if (this.summary) setText(this.summary, shown.summary);
    if (this.status) setText(this.status, shown.status || "");
    this.facts.replaceChildren(definitions([...shown.words, ...(content.words || [])]), ...eventList(shown.events, (t) => this.seek(t)));
    this.stage.canvas.setAttribute("aria-label", `${content.title}: ${shown.summary}. ${shown.status || ""}`);
  }

  fillSpeeds() {
    this.speeds.replaceChildren(...SPEEDS.map((speed, k) => el("option", { value: k, selected: k === this.speed }, `${valueText(speed * this.rate, 2)}\u00d7`)));
    this.trails.replaceChildren(...this.lengths.map((length, k) => el("option", { value: k }, trailText(length))));
    this.setTrail(this.trail ?? this.lengths.indexOf(this.wished ? this.wished[0] : this.rate));
  }

  // Seconds of the motion in one of the reader.
  get pace() {
    return SPEEDS[this.speed] * this.rate;
  }

  get t() {
    return this.motion.start + this.motion.sign * this.elapsed;
  }

  play() {
    if (!this.motion.span || this.playing) return;
    if (this.elapsed >= this.motion.span) this.elapsed = 0;
    this.setPlaying(true);
  }

  pause() {
    if (this.playing) this.setPlaying(false);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  setPlaying(playing) {
    this.playing = playing;
    this.last = undefined;
    showPlaying(this.playButton, playing);
    this.say(playing ? "playing" : `paused at ${this.timeText()}`);
    this.request();
  }

  setLoop(loop) {
    this.loop = loop;
    this.loopButton.setAttribute("aria-pressed", String(loop));
  }

  setSpeed(k) {
    this.speed = Math.min(SPEEDS.length - 1, Math.max(0, k));
    this.speeds.value = this.speed;
    this.say(`speed ${valueText(this.pace, 2)}`);
  }

  setTrail(k) {
    this.trail = k % this.lengths.length;
    this.trails.value = this.trail;
    this.look.trail = this.lengths[this.trail];
    this.request();
  }

  seek(t) {
    this.jump(this.motion.sign * (t - this.motion.start));
  }

  jump(elapsed) {
    this.elapsed = Math.min(this.motion.span, Math.max(0, elapsed));
    this.say(this.timeText());
    this.request();
  }

  step(count) {
    this.pause();
    this.jump((Math.round(this.elapsed / this.shown.step) + count) * this.shown.step);
  }

  toEvent(direction) {
    const times = this.shown.events.map((event) => this.motion.sign * (event.t - this.motion.start)), near = 1e-9 * this.motion.span;
    const found = direction > 0 ? times.find((s) => s > this.elapsed + near) : times.findLast((s) => s < this.elapsed - near);
    if (found !== undefined) {
      this.jump(found);
      this.say(this.shown.events[times.indexOf(found)].text);
    }
  }

  pick(link) {
    this.link = (link + this.motion.n) % this.motion.n;
    this.stage.picked = this.link;
    this.panels.showLink(this.link);
    this.say(this.motion.nameOf(this.link));
  }

  // Let the tip of the chosen link draw the trail, or the usual point again.
  traceTip() {
    const { motion, link } = this, { chain } = motion;
    motion.trace = motion.trace === chain.trace ? [link, chain.length[link], 0] : chain.trace;
    motion.swept = undefined;
    this.request();
  }

  save() {
    download(this.stage.picture(this.t, this.content.title, `t = ${this.timeText()}`), fileName(this.content.title, ".png"));
  }

  timeText() {
    return `${minus(this.t.toFixed(this.decimals))} s`;
  }

  // Say something to a screen reader: on a press, never on every frame.
  say(text) {
    this.said.textContent = text;
  }

  request() {
    if (!this.waiting) this.waiting = requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.waiting = 0;
    if (this.playing) this.advance(now);
    this.draw();
    if (this.playing) this.request();
  }

  advance(now) {
    const passed = this.last === undefined ? 0 : Math.min(0.25, (now - this.last) / 1000);
    this.last = now;
    this.elapsed += passed * this.pace;
    if (this.elapsed < this.motion.span) return;
    if (this.loop) this.elapsed %= this.motion.span;
    else {
      this.elapsed = this.motion.span;
      this.setPlaying(false);
    }
  }

  draw() {
    const { t, shown, motion } = this;
    this.stage.draw(t);
    this.panels.draw(t);
    this.timeline.draw(motion.span ? this.elapsed / motion.span : 0, this.timeText());
    setText(this.clock, this.timeText());
    const beyond = shown.trusted !== null && this.elapsed > motion.sign * (shown.trusted - motion.start) + 1e-12;
    setText(this.note, beyond ? "beyond the trusted time" : "");
  }

  key(event) {
    const back = event.shiftKey ? -1 : 1, act = this.actions()[keyOf(event, this.root, "select, input[type=text], textarea")];
    if (!act) return;
    event.preventDefault();
    act(back);
  }

  actions() {
    const twentieth = this.motion.span / 20, flip = (box) => box.firstChild.click(), zoom = (factor) => () => this.stage.zoom(factor);
    const move = (sign) => (back) => (back < 0 ? this.jump(this.elapsed + sign * twentieth) : this.step(sign));
    return {
      " ": () => this.toggle(), ArrowLeft: move(-1), ArrowRight: move(1), Home: () => this.jump(0), End: () => this.jump(this.motion.span),
      ",": () => this.setSpeed(this.speed - 1), ".": () => this.setSpeed(this.speed + 1), l: () => this.setLoop(!this.loop),
      e: (back) => this.toEvent(back), n: (back) => this.pick(this.link + back), t: () => this.setTrail(this.trail + 1), o: () => this.traceTip(),
      h: () => flip(this.hingeBox), c: () => this.nextColours(), "+": zoom(1.3), "=": zoom(1.3), "-": zoom(1 / 1.3), f: () => this.stage.fit(), m: (back) => this.take((this.index + back + this.content.takes.length) % this.content.takes.length),
      d: toggleTheme, p: () => this.save(), i: () => this.about.showModal(), "?": () => this.help.showModal(),
    };
  }

  nextColours() {
    this.colourBox.selectedIndex = (this.colourBox.selectedIndex + 1) % this.colourBox.length;
    this.colourBox.dispatchEvent(new Event("change"));
  }
}

// Real time, unless the run would then take less than two seconds or more than two minutes.
export function paceOf(span) {
  return !span || (span >= 2 && span <= 120) ? 1 : roundStep(span / (span < 2 ? 8 : 40));
}

function trailText(length) {
  return length === 0 ? "off" : length === Infinity ? "all" : `${valueText(length, 2)} s`;
}

function eventList(events, seek) {
  if (!events.length) return [];
  const rows = events.slice(0, 200).map((event) => el("li", {}, el("button", { type: "button", class: "link", onclick: () => seek(event.t) }, event.text)));
  return [el("h3", {}, `Events (${events.length})`), el("ol", { class: "events" }, ...rows)];
}
