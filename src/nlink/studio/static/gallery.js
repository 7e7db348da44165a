// The presets as pictures in groups; the one that the model is stands out.

import { dialog, el } from "/web/dom.js";

const SVG = "http://www.w3.org/2000/svg";
const PAD = 0.14;

export class Gallery {
  // ask() -> the groups; chosen(model)
  constructor(ask, chosen) {
    Object.assign(this, { ask, chosen, cards: [] });
    this.list = el("div", { class: "gallery" });
    this.node = dialog("Presets", this.list);
    this.button = el("button", { type: "button", class: "word", "aria-haspopup": "dialog", onclick: () => this.open() }, "Presets");
  }

  async open() {
    this.node.showModal();
    if (!this.cards.length) await this.fill();
    this.mark(this.table);
    this.cards.find(({ node }) => node.getAttribute("aria-pressed") === "true")?.node.focus();
  }

  async fill() {
    const answer = await this.ask();
    if (answer.error) {
      this.list.replaceChildren(el("p", { class: "error", role: "alert" }, answer.error.text));
      return;
    }
    this.cards = answer.groups.flatMap((group) => group.presets.map((preset) => ({ group: group.name, ...preset, text: JSON.stringify(preset.model), node: this.card(preset) })));
    this.list.replaceChildren(...answer.groups.map(({ name }) => el("section", { "aria-label": name }, el("h3", {}, name), el("div", { class: "cards" }, ...this.cards.filter(({ group }) => group === name).map(({ node }) => node)))));
  }

  card({ name, label, model, lines, pins }) {
    const choose = () => { this.node.close(); this.chosen(model); };
    return el("button", { type: "button", class: "preset", "aria-label": `${name}: ${label}`, "aria-pressed": "false", title: model.title, onclick: choose }, sketch(lines, pins), el("span", {}, label), el("small", {}, name));
  }

  // The model as it stands now: mark the preset that it is.
  mark(table) {
    this.table = table;
    if (!this.node.open) return;
    const text = JSON.stringify(table);
    for (const card of this.cards) card.node.setAttribute("aria-pressed", String(card.text === text));
  }
}

// A chain in its start, as large as its place allows: the lines of its links, both ends of each.
function sketch(lines, pins) {
  const ends = [[0, 0], ...lines.flat()], xs = ends.map(([x]) => x), ys = ends.map(([, y]) => -y);
  const [left, top, right, bottom] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  const size = Math.max(right - left, bottom - top) * (1 + 2 * PAD), many = lines.length > 20, width = size / (many ? 40 : 22);
  const node = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const dot = ([cx, y], kind) => node("circle", { cx, cy: -y, r: 1.1 * width, class: kind });
  const svg = node("svg", { viewBox: `${(left + right - size) / 2} ${(top + bottom - size) / 2} ${size} ${size}`, "aria-hidden": "true" });
  svg.append(...lines.map(([[x1, y1], [x2, y2]]) => node("line", { x1, y1: -y1, x2, y2: -y2, "stroke-width": width })));
  if (!many) svg.append(...lines.map(([, end]) => dot(end, "end")));
  svg.append(dot([0, 0], "pivot"), ...pins.map((pin) => dot(pin, "pivot")));
  return svg;
}
