// A pane of the studio: its controls, one computation at a time with its progress and place in line, and what came of it.

import { clearErrors, field, grid, showError } from "./fields.js";
import { decoded } from "/web/data.js";
import { el } from "/web/dom.js";

export class Pane {
  // values: what is asked of the server besides the model; studio: { line, model, valid }; options: { name, kind, go, hint, again: the verb that asks for a new result,
  // automatic: whether the pane computes when it is shown }
  constructor(studio, { name, kind, go, hint, again = "", automatic = false }) {
    Object.assign(this, { studio, name, kind, hint, again, automatic, refusal: "", job: null, stale: true, filled: false, values: {} });
    this.button = el("button", { type: "button", class: "go", onclick: () => this.press() }, go);
    this.label = go;
    this.said = el("p", { class: "said", role: "status" }, hint || "");
    this.failure = el("p", { class: "error", role: "alert", hidden: true });
    this.controls = el("form", { class: "controls-bar", onsubmit: (event) => { event.preventDefault(); if (!this.job) this.go(); } });
    this.body = el("div", { class: "body" });
    this.node = el("section", { class: "pane", role: "tabpanel", "aria-label": name, hidden: true }, this.controls, this.failure, this.body);
  }

  // Put the controls together: fields, then the button and the words.
  place(...fields) {
    this.controls.replaceChildren(...fields, this.button, this.said);
  }

  // A field of one of the pane's values.
  number(label, name, unit, kind = "number") {
    return field(label, { path: name, unit, kind, value: this.values[name], changed: (value) => { this.values[name] = value; } });
  }

  // What the page offers for the model; a sentence where the pane does not take it.
  offer({ refused = {} }) {
    const before = this.refusal;
    this.refusal = refused[this.kind] ?? "";
    if (!this.refusal && !before) return;
    if (this.job) this.studio.line.drop(this.job);
    this.set(null);
    this.clear();
    this.button.disabled = Boolean(this.refusal);
    this.body.hidden = Boolean(this.refusal);
    this.say(this.refusal || this.hint);
    if (!this.refusal && !this.node.hidden) this.shown();
  }

  shown() {
    if (this.automatic && this.stale && !this.job) this.go();
  }

  // The model has changed: what is shown belongs to an earlier one.
  changed(how) {
    this.stale = true;
    if (how === "whole" && !this.job) this.arrange?.();
    if (this.again && this.filled && !this.job && !this.refusal) this.say(`of an earlier model; ${this.again} again for this one`);
  }

  // The button is pressed.
  press() {
    if (this.job) this.stop();
    else this.go();
  }

  go() {
    if (this.job) this.stop();
    this.clear();
    if (this.refusal) return;
    if (this.studio.error) {
      this.fail({ text: `the model is not right yet: ${this.studio.error.text}`, path: "" });
      return;
    }
    this.stale = false;
    this.say("starting");
    const job = this.studio.line.start(this.kind, { model: this.studio.model.table, ...this.values }, (message) => this.hear(job, message));
    this.set(job);
  }

  stop() {
    this.studio.line.stop(this.job);
    this.say("stopping");
  }

  set(job) {
    this.job = job;
    this.button.textContent = job ? "Stop" : this.label;
    this.button.classList.toggle("stop", Boolean(job));
    this.node.setAttribute("aria-busy", String(Boolean(job)));
  }

  async hear(job, message) {
    if (job !== this.job) return;
    const { type } = message;
    if (type === "queued") this.say(`waiting, place ${message.place} in line`);
    else if (type === "started") this.say("computing");
    else if (type === "compiling" && !this.part) this.say(message.text);
    else if (type === "progress") this.say(`computing, ${Math.round((100 * message.done) / message.total)} %`);
    else if (type === "failed") this.end(() => this.fail(message));
    else if (type === "stopped") this.end(() => this.stopped());
    else if (type === "done") {
      const content = message.content ? await decoded({ data: message.data, content: message.content }) : null;
      this.filled = true;
      if (job === this.job) this.end(() => this.done(message, content, job));
    } else this.part?.(message);
  }

  end(then) {
    this.set(null);
    this.say("");
    then();
  }

  stopped() {
    this.say("stopped");
  }

  fail(error) {
    this.showFailure(error, this.controls);
  }

  // Show an error at its field in a form, or above the pane.
  showFailure(error, form) {
    this.say("");
    if (!showError(form, error)) Object.assign(this.failure, { hidden: false, textContent: error.text });
  }

  clear() {
    clearErrors(this.node);
    this.failure.hidden = true;
  }

  say(text) {
    if (this.said.textContent !== text) this.said.textContent = text;
  }
}

export function table(heads, rows) {
  return grid(heads, rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell)))));
}
