// The studio: the model's form on the left, what is done with it in panes on the right.

import { CodePane, EquationsPane } from "./texts.js";
import { ComparePane, CopiesPane, ModesPane } from "./panes.js";
import { Editor } from "./editor.js";
import { clearErrors } from "./fields.js";
import { Files } from "./files.js";
import { Gallery } from "./gallery.js";
import { Line } from "./link.js";
import { MapPane, StabilityPane } from "./fieldpane.js";
import { Model } from "./model.js";
import { MotionPane } from "./motion.js";
import { Taking } from "./taking.js";
import { Tour } from "./tour.js";
import { brought, keep, tablesOf } from "./brought.js";
import { button, definitions, dialog, el } from "/web/dom.js";
import { recallTheme, toggleTheme } from "/web/colours.js";

const CALM = 60;
const POSED = '[data-path^="start."], [data-path*=".motion."]';
const KEYS = [["Ctrl Enter", "run"], ["Escape", "stop the run"], ["Ctrl Z, Ctrl Shift Z", "undo, redo"], ["v l s g o k x", "tools on the stage: pose, link, slider, hold, point, spring, delete; Escape leaves, Shift snaps to angles and the grid"], ["arrows, Enter", "with a tool: move a cursor on the stage, press and let go"], ["w", "drive a crank, without masses"], ["drag a link", "pose it, also while it moves: let go with a swing to throw it; with Shift the links behind turn with it, with Alt those before it follow"], ["Space", "play or pause"], ["\u2190 \u2192", "one step back or on; on a stage in space that Tab has reached, arrows turn the view, with Shift they move it"], ["4 6 8 2, 1 3 7", "in space: turn the view, look from the front, the side, above"], ["+ \u2212 f", "zoom in, out, fit"], ["t h c", "trail, hinges, colours"], ["d", "dark or light"], ["p", "save the frame as PNG"]];
const STATES = { open: "", lost: "connection lost; coming back as soon as the studio answers", ended: "the studio was started anew: open the address that it printed" };

class Studio {
  constructor(root) {
    Object.assign(this, { root, error: null, checks: 0 });
    this.state = el("p", { class: "state", role: "alert" });
    this.line = new Line((state) => { this.state.textContent = STATES[state]; });
    this.model = new Model((how) => this.changed(how));
    this.begin();
  }

  async begin() {
    const first = await this.line.ask("/api/start"), given = brought();
    if (first.error) {
      if (given) keep(given);
      this.root.replaceChildren(el("p", { class: "error" }, first.error.text + (given ? "; the model of this link will be there" : "")), this.state);
      return;
    }
    this.known = first;
    this.editor = new Editor(this.model, first);
    this.model.table = first.model;
    this.build();
    this.root.studio = this;
    this.took(first);
    const kept = this.model.kept();
    this.model.load(kept?.links ? kept : first.model, { remember: false });
    if (given) await this.bring(given);
    else if (first.opens && !kept) this.openRun(first.opens);
    addEventListener("hashchange", () => { const text = brought(); if (text) this.bring(text); });
    document.addEventListener("keydown", (event) => this.key(event));
    this.tour.offer();
  }

  build() {
    this.motion = new MotionPane(this);
    this.panes = [this.motion, new CopiesPane(this), new ComparePane(this, this.known), new ModesPane(this), new StabilityPane(this), new MapPane(this), new EquationsPane(this), new CodePane(this)];
    this.editor.refused = (text) => this.motion.say(text);
    this.files = new Files(this);
    this.taking = new Taking(this);
    this.gallery = new Gallery(() => this.line.ask("/api/presets"), (model) => this.preset(model));
    this.tour = new Tour(this.root);
    const again = el("button", { type: "button", class: "word", onclick: () => { this.help.close(); this.tour.start(true); } }, "Show the tour");
    this.help = dialog("Help", again, definitions(KEYS), el("p", {}, "A value that is wrong is told at its field. Lists, one value for each link or joint, are typed with commas."));
    this.tabs = this.panes.map((pane, k) => el("button", { type: "button", role: "tab", class: "tab", "aria-selected": "false", tabindex: -1, onclick: () => this.show(pane.name), onkeydown: (event) => this.tabKey(event, k) }, pane.name));
    this.motion.controls.remove();
    const go = el("div", { class: "gobar" }, this.motion.button, this.motion.endless.button, this.motion.onward, el("div", { class: "saying" }, this.motion.said, this.motion.bar));
    this.motion.button.classList.add("main");
    this.root.replaceChildren(this.top(), go, this.editor.node, el("main", { class: "work" }, el("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, ...this.tabs), ...this.panes.map((pane) => pane.node)), this.help, this.files.opening, this.files.saving, this.taking.node, this.gallery.node, this.tour.node);
    this.show("Motion");
  }

  top() {
    this.undoButton = button("Undo (Ctrl Z)", "undo", () => this.model.undo(), { class: "quiet undo" });
    this.redoButton = button("Redo (Ctrl Shift Z)", "redo", () => this.model.redo(), { class: "quiet" });
    const word = (text, act, title = text) => el("button", { type: "button", class: "word", title, onclick: act }, text);
    return el("header", { class: "top" }, el("h1", {}, "nlink ", el("span", {}, "studio")), el("div", { class: "buttons" }, this.gallery.button, word("New", () => this.draw(), "Draw a linkage from an empty stage"), word("Open", () => this.files.open()), word("Save", () => this.files.askSave()), word("Take along", () => this.taking.open(), "Download the run, its plots or the model; share a link"), this.undoButton, this.redoButton), this.state,
      el("div", { class: "buttons end" }, button("Help", "help", () => this.help.showModal(), { class: "quiet" }), button("Dark or light", "theme", toggleTheme, { class: "quiet theme" })));
  }

  // An empty stage to draw on.
  draw() {
    if (!this.tour.node.hidden) this.tour.end();
    this.show("Motion");
    this.motion.flatten();
    this.motion.tools.begin();
  }

  // Take over the model of a link, if it is one.
  async bring(text) {
    const table = tablesOf(text), answer = table ? await this.line.ask("/api/check", { model: table }) : { error: { text: "it is not whole" } };
    if (answer.error) this.state.textContent = `the model of the link cannot be taken: ${answer.error.text}`;
    else this.preset(answer.model);
  }

  preset(model) {
    this.motion.tools.reset();
    this.playNext = true;
    this.model.load(model);
  }

  show(name) {
    this.panes.forEach((pane, k) => {
      const on = pane.name === name;
      pane.node.hidden = !on;
      this.tabs[k].setAttribute("aria-selected", String(on));
      this.tabs[k].tabIndex = on ? 0 : -1;
      if (on && this.pane !== pane) {
        this.root.dataset.pane = name;
        this.pane = pane;
        pane.shown();
      }
    });
  }

  tabKey(event, k) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (k + step + this.panes.length) % this.panes.length;
    this.show(this.panes[next].name);
    this.tabs[next].focus();
  }

  // The model has changed: show it, and let the server check it: at once, but not more often than it can be seen.
  changed(how) {
    if (how === "whole") this.editor.render();
    if (this.motion.tools.fresh) this.motion.tools.leave();
    if (how !== "pose") this.motion.drive.forget();
    this.enable(this.undoButton, this.redoButton, this.model.past.length);
    this.enable(this.redoButton, this.undoButton, this.model.future.length);
    this.gallery.mark(this.model.table);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(how), how === "whole" ? 0 : Math.max(0, CALM - (performance.now() - (this.checked ?? 0))));
    for (const pane of this.panes) pane.changed(how);
  }

  // A button that can do no more hands the focus to its opposite.
  enable(node, opposite, count) {
    if (!count && document.activeElement === node) {
      opposite.disabled = false;
      opposite.focus();
    }
    node.disabled = !count;
  }

  async check(how) {
    this.checked = performance.now();
    const mine = ++this.checks, sent = this.model.table, answer = await this.line.ask("/api/check", { model: sent });
    if (mine !== this.checks || this.model.table !== sent) return;
    clearErrors(this.editor.node);
    this.motion.clear();
    const wasWrong = Boolean(this.error);
    this.error = answer.error || null;
    this.motion.button.disabled = Boolean(this.error) && !this.motion.job;
    if (!this.error) {
      if (wasWrong) this.motion.say("");
      this.took(answer, how);
    } else if (!this.reclose(this.error)) {
      this.motion.tools.line.textContent = "";
      this.opening = false;
      this.tell(this.error);
      this.motion.why(this.error);
    }
    this.judged = this.model.table;
  }

  // A pin or a length that moved leaves the start open: move the bodies until it closes, once.
  reclose({ path }) {
    const { table, linkage } = this.model, theta = table.start?.theta;
    if (!path.startsWith("start") || !linkage.closures.length || theta?.length !== linkage.n || this.reclosed === table) return false;
    const found = linkage.closed(theta);
    if (!found || !found.every(Number.isFinite)) return false;
    this.reclosed = { ...table, start: { ...table.start, theta: [...found] } };
    this.model.settle(this.reclosed);
    this.editor.refresh();
    this.check("pose");
    return true;
  }

  tell(error) {
    this.motion.showFailure(error, this.editor.node);
  }

  // The server has taken the model: show its pose. A start given by a shape has become angles.
  took(answer, how = "whole") {
    this.valid = answer;
    for (const pane of this.panes) pane.offer(answer.offers);
    document.title = `${answer.model.title || "Chain"} \u2013 nlink studio`;
    const { start: given } = this.model.table, shaped = !Array.isArray(given?.theta ?? given?.pose) || Boolean(given.theta && answer.chain.space);
    if (shaped) {
      this.model.settle({ ...this.model.table, start: answer.model.start });
      this.editor.render();
    } else if (how === "pose") {
      if (this.model.linkage.closures.length && !this.motion.hand.full) this.model.settle({ ...this.model.table, start: answer.model.start });  // the loop allows these rates
      this.editor.refresh(POSED);
    }
    const { title, ...model } = answer.model, start = JSON.stringify([model.start, answer.chain.n, answer.chain.pin]), whole = JSON.stringify(model);
    if (this.opening) this.opening = false;
    else if (whole !== this.ran) this.motion.renew(answer, { hold: start === this.started, play: this.playNext });
    else this.motion.calm();
    this.motion.tools.took();
    Object.assign(this, { ran: whole, started: start, playNext: null });
  }

  // A pose in the hand: angles, rates or null for those of the model; over: the hand lets go.
  posed(theta, omega, over) {
    const { start } = this.model.table;
    if (this.model.last.path === "start") this.model.last.time = performance.now();
    this.model.pose(theta, omega ?? start.omega);
    this.editor.refresh(POSED);
    if (over) this.model.last = { path: "", time: 0 };
  }

  // Start at a place that was pressed on the map.
  startAt(start) {
    this.playNext = true;
    this.model.set("start", start, "whole");
    this.show("Motion");
  }

  openRun(name) {
    this.show("Motion");
    this.motion.open(name);
  }

  opened(model) {
    this.motion.tools.reset();
    this.opening = true;
    this.model.load(model);
  }

  key(event) {
    const held = event.ctrlKey || event.metaKey, name = event.key.toLowerCase();
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (held && name === "enter") this.motion.go();
    else if (name === "escape" && !this.tour.node.hidden) this.tour.end();
    else if (name === "escape" && this.motion.job) this.motion.stop();
    else if (held && (name === "y" || (name === "z" && event.shiftKey))) this.model.redo();
    else if (held && name === "z") this.model.undo();
    else return;
    event.preventDefault();
  }
}

recallTheme();
new Studio(document.getElementById("studio"));
