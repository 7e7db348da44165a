// The presets as pictures in groups; the one that the model is stands out.

import { dialog, el } from "/web/dom.js";
import { linkageOf } from "./linkage.js";

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

  card({ name, label, model, sketch: seen }) {
    const choose = () => { this.node.close(); this.chosen(model); };
    return el("button", { type: "button", class: "preset", "aria-label": `${name}: ${label}`, "aria-pressed": "false", title: model.title, onclick: choose }, seen ? sketchOf(seen.slice(1).map((end, i) => [seen[i], end]), [], seen, [seen[0]], seen.length > 21) : sketch(model), el("span", {}, label), el("small", {}, name));
  }

  // The model as it stands now: mark the preset that it is.
  mark(table) {
    this.table = table;
    if (!this.node.open) return;
    const text = JSON.stringify(table);
    for (const card of this.cards) card.node.setAttribute("aria-pressed", String(card.text === text));
  }
}

// A model in its start, as large as its place allows: links from their joints to all that hangs on them, sliders, what is fixed.
function sketch(model) {
  const linkage = linkageOf(model), frames = linkage.frames(model.start.theta), { bodies, closures } = linkage;
  const at = (link, along, left) => { const { x, y } = linkage.point(frames, { link, along, left }); return [x, -y]; };
  const ends = closures.flatMap(({ a, b }) => [a, b]).filter(Boolean), held = [...bodies.map(({ parent, lever: [along, left] }) => ({ link: parent, along, left })), ...ends];
  const lines = bodies.flatMap(({ slides, length }, i) => (slides ? [] : [{ along: length, left: 0 }, ...held.filter(({ link, left }) => link === i && left)].map(({ along, left }) => [at(i, 0, 0), at(i, along, left)])));
  const sliders = bodies.flatMap(({ slides }, i) => (slides ? [at(i, 0, 0)] : [])), hinges = bodies.flatMap(({ slides }, i) => (slides ? [] : [at(i, 0, 0)]));
  const fixed = [...bodies.flatMap(({ slides, parent }, i) => (!slides && parent < 0 ? [at(i, 0, 0)] : [])), ...ends.filter(({ link }) => link < 0).map(({ link, along, left }) => at(link, along, left))];
  return sketchOf(lines, sliders, [...hinges, ...lines.map(([, b]) => b)], fixed, linkage.n > 20);
}

// Lines, sliders, hinges and what is fixed, in places on the screen.
function sketchOf(lines, sliders, hinges, fixed, many) {
  const all = [...lines.flat(), ...sliders, ...fixed], xs = all.map(([x]) => x), ys = all.map(([, y]) => y), [left, top] = [Math.min(...xs), Math.min(...ys)];
  const size = Math.max(Math.max(...xs) - left, Math.max(...ys) - top) * (1 + 2 * PAD), middle = [(left + Math.max(...xs)) / 2, (top + Math.max(...ys)) / 2];
  const node = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const dot = ([cx, cy], r, kind) => node("circle", { cx, cy, r, class: kind });
  const svg = node("svg", { viewBox: `${middle[0] - size / 2} ${middle[1] - size / 2} ${size} ${size}`, "aria-hidden": "true" });
  const width = size / (many ? 40 : 22);
  svg.append(...sliders.map(([x, y]) => node("rect", { x: x - 1.6 * width, y: y - width, width: 3.2 * width, height: 2 * width, class: "end" })));
  svg.append(node("path", { d: lines.map(([a, b]) => `M${a}L${b}`).join(""), "stroke-width": width }));
  if (!many) svg.append(...hinges.map((end) => dot(end, 1.1 * width, "end")));
  svg.append(...fixed.map((end) => dot(end, 1.1 * width, "pivot")));
  return svg;
}
