// Panes of text: the equations of motion, and the model as Python and TOML.

import { Pane } from "./pane.js";
import { el } from "/web/dom.js";

// A button that copies a text; where the browser does not allow it, `otherwise` selects it, to be copied by the keys.
function copyButton(label, text, otherwise = () => {}) {
  const copy = async ({ currentTarget: button }) => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl C";
      otherwise(button);
    }
    setTimeout(() => { button.textContent = label; }, 1600);
  };
  return el("button", { type: "button", class: "copy", onclick: copy }, label);
}

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
    this.body.replaceChildren(el("article", { class: "paper" }, el("header", {}, el("h2", {}, `${message.title[0].toUpperCase()}${message.title.slice(1)}`), copyButton("Copy LaTeX", message.latex, () => this.showLatex(message.latex))), el("p", { class: "formula" }, formula), ...parts,
      el("p", { class: "hint" }, "\u03b8 from straight down, counter-clockwise; l lengths, m masses, d centres of mass along the links, I inertias about them. Derived by nlink with SymPy, typeset by the browser.")));
    this.say("");
  }

  // Where nothing can be copied for the reader: the text itself, selected.
  showLatex(text) {
    const block = el("pre", { tabindex: 0, "aria-label": "LaTeX" }, text);
    this.body.querySelector("pre")?.remove();
    this.body.querySelector(".formula").before(block);
    getSelection().selectAllChildren(block);
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
    const block = (name, text) => el("section", { class: "text" }, el("header", {}, el("h2", {}, name), copyButton(`Copy as ${name}`, text, (button) => getSelection().selectAllChildren(button.closest(".text").querySelector("pre")))), el("pre", { tabindex: 0, "aria-label": name }, text));
    this.body.replaceChildren(el("div", { class: "texts" }, block("Python", answer.python), block("TOML", answer.toml)));
  }
}
