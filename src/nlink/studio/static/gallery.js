// Presets of mechanisms as pictures: each is drawn at its start by the stage.

import { Stage } from "/web/stage.js";
import { dialog, el } from "/web/dom.js";
import { still } from "./live.js";
import { Motion } from "/web/motion.js";

const SIZE = [210, 150];

export class Gallery {
  // studio: { line, known }; chosen(name)
  constructor(studio, chosen) {
    Object.assign(this, { studio, chosen });
    this.list = el("div", { class: "gallery" });
    this.box = dialog("Mechanisms", this.list);
  }

  open() {
    this.box.showModal();
    if (!this.list.children.length) this.fill();
  }

  fill() {
    const { mechanisms, presets } = this.studio.known;
    this.list.replaceChildren(...mechanisms.map((name) => {
      const canvas = el("canvas", { "aria-hidden": "true" }), card = el("button", { type: "button", title: presets[name], onclick: () => this.pick(name) }, canvas, el("strong", {}, name), el("span", {}, presets[name]));
      this.picture(name, canvas);
      return card;
    }));
  }

  pick(name) {
    this.box.close();
    this.chosen(name);
  }

  async picture(name, canvas) {
    const { error, chain, model } = await this.studio.line.ask(`/api/presets/${encodeURIComponent(name)}`);
    if (error) return;
    const [take] = still(chain, model.start.theta, model.start.omega, name).takes, look = { trail: 0, hinges: true, centres: false, forces: true, colours: "link", style: "bar" };
    const stage = new Stage(canvas, look), context = canvas.getContext("2d"), ratio = Math.max(2, window.devicePixelRatio || 1);
    [canvas.width, canvas.height] = SIZE.map((side) => side * ratio);
    context.scale(ratio, ratio);
    stage.drawGrid = () => {};
    stage.show(new Motion(chain, take.t, take.theta, take.omega));
    stage.paint(context, ...SIZE, 0);
  }
}
