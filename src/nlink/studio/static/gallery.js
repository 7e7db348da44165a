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

  card({ name, label, model }) {
    const choose = () => { this.node.close(); this.chosen(model); };
    return el("button", { type: "button", class: "preset", "aria-label": `${name}: ${label}`, "aria-pressed": "false", title: model.title, onclick: choose }, sketch(model), el("span", {}, label), el("small", {}, name));
  }

  // The model as it stands now: mark the preset that it is.
  mark(table) {
    this.table = table;
    if (!this.node.open) return;
    const text = JSON.stringify(table);
    for (const card of this.cards) card.node.setAttribute("aria-pressed", String(card.text === text));
  }
}

// A chain in its start, as large as its place allows.
function sketch({ links, length, start, pin }) {
  const ends = [[0, 0]];
  start.theta.forEach((angle, i) => {
    const [x, y] = ends[i], long = Array.isArray(links) ? links[i].length : length;
    ends.push([x + long * Math.sin(angle), y + long * Math.cos(angle)]);
  });
  const xs = ends.map(([x]) => x), ys = ends.map(([, y]) => y), [left, top] = [Math.min(...xs), Math.min(...ys)];
  const size = Math.max(Math.max(...xs) - left, Math.max(...ys) - top) * (1 + 2 * PAD), middle = [(left + Math.max(...xs)) / 2, (top + Math.max(...ys)) / 2];
  const node = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const dot = ([cx, cy], r, kind) => node("circle", { cx, cy, r, class: kind });
  const svg = node("svg", { viewBox: `${middle[0] - size / 2} ${middle[1] - size / 2} ${size} ${size}`, "aria-hidden": "true" });
  const many = ends.length > 20, width = size / (many ? 40 : 22);
  svg.append(node("polyline", { points: ends.map((end) => end.join(",")).join(" "), "stroke-width": width }));
  if (!many) svg.append(...ends.slice(1).map((end) => dot(end, 1.1 * width, "end")));
  svg.append(dot(ends[0], 1.1 * width, "pivot"), ...(pin ? [dot(ends[ends.length - 1], 1.1 * width, "pivot")] : []));
  return svg;
}
