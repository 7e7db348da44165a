// Panes of text: the equations of motion, and the model as Python and TOML.

import { Pane } from "./pane.js";
import { el } from "/web/dom.js";

export class EquationsPane extends Pane {
  constructor(studio) {
    super(studio, { name: "Equations", kind: "equations", go: "Derive", hint: "", automatic: true });
    this.place();
  }

  changed(how) {
    super.changed(how);
    if (!this.node.hidden && how !== "pose" && !this.job) this.go();
  }

  done(message) {
    const parts = message.parts.flatMap(({ name, math }) => [el("h3", {}, name), el("div", { class: "math" }, document.importNode(new DOMParser().parseFromString(math, "application/xml").documentElement, true))]);
    const formula = "M(\u03b8) \u03b8\u2033 = f(\u03b8, \u03c9, t)";
    this.body.replaceChildren(el("article", { class: "paper" }, el("h2", {}, `${message.title[0].toUpperCase()}${message.title.slice(1)}`), el("p", { class: "formula" }, formula), ...parts,
      el("p", { class: "hint" }, "\u03b8 from straight down, counter-clockwise; l lengths, m masses, d centres of mass along the links, I inertias about them. Derived by nlink with SymPy, typeset by the browser.")));
    this.say("");
  }

  fail(error) {
    super.fail(error);
    this.body.replaceChildren();
  }
}

export class CodePane extends Pane {
  constructor(studio) {
    super(studio, { name: "Code", kind: "", go: "", hint: "The model as it stands, to take along." });
    this.controls.replaceChildren(this.said);
  }

  shown() {
    this.write();
  }

  changed() {
    if (!this.node.hidden) this.write();
  }

  async write() {
    const mine = (this.asked = (this.asked || 0) + 1), answer = await this.studio.line.ask("/api/code", { model: this.studio.model.table });
    if (mine !== this.asked) return;
    this.clear();
    if (answer.error) {
      this.fail(answer.error);
      return;
    }
    const block = (name, text) => el("section", { class: "text" }, el("header", {}, el("h2", {}, name), el("button", { type: "button", class: "copy", onclick: (event) => this.copy(event.currentTarget, text) }, `Copy as ${name}`)), el("pre", { tabindex: 0, "aria-label": name }, text));
    this.body.replaceChildren(el("div", { class: "texts" }, block("Python", answer.python), block("TOML", answer.toml)));
  }

  async copy(button, text) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl C";
      getSelection().selectAllChildren(button.closest(".text").querySelector("pre"));
    }
    setTimeout(() => { button.textContent = label; }, 1600);
  }
}
