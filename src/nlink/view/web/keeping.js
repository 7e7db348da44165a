// What a reader takes along of a run that is played: its numbers as CSV, an animation as GIF, its model in a studio.

import { Gif, Palette } from "./gif.js";
import { button, dialog, el, fileName, saveBlob } from "./dom.js";
import { setText } from "./panels.js";

const STUDIO = "http://127.0.0.1:8765/#model=";
const MOST_ROWS = 200000;
const SIDE = 480;
const RATE = 25;
const MOST_FRAMES = 400;

// The numbers of a take at equal intervals, as CSV.
export function csvOf({ step }, motion) {
  const rows = Math.min(MOST_ROWS, Math.round(motion.span / step) + 1), lines = [["t [s]", ...motion.columns()].join(",")];
  for (let k = 0; k < rows; k++) {
    const t = rows > 1 ? motion.start + (motion.sign * motion.span * k) / (rows - 1) : motion.start;
    motion.at(t);
    lines.push([t, ...motion.values()].map((value) => Number(value.toPrecision(9))).join(","));
  }
  return `${lines.join("\n")}\n`;
}

// An animation of a player's motion at its speed. told(share) is called between the frames; told returns false to give up.
export async function gifOf(player, told) {
  const { stage, motion } = player, long = motion.span / player.pace, frames = Math.max(1, Math.min(MOST_FRAMES, Math.round(long * RATE)));
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d", { willReadFrequently: true }), t = player.t;
  [canvas.width, canvas.height] = [SIDE, SIDE];
  const draw = (k) => {
    stage.paint(context, SIDE, SIDE, motion.start + (motion.sign * motion.span * k) / frames);
    return context.getImageData(0, 0, SIDE, SIDE).data;
  };
  const breath = () => new Promise((done) => setTimeout(done));
  const palette = new Palette();
  for (let k = 0; k < frames; k += Math.max(1, Math.floor(frames / 16))) palette.see(draw(k));
  palette.settle();
  const gif = new Gif(SIDE, SIDE, palette), until = (k) => Math.round((100 * long * k) / frames);
  for (let k = 0; k < frames; k++) {
    gif.add(palette.indices(draw(k)), until(k + 1) - until(k));
    if (k % 4 !== 3) continue;
    stage.draw(t);
    if (told(k / frames) === false) return null;
    await breath();
  }
  stage.draw(t);
  return gif.blob();
}

// The dialog with all of it.
export class Keeping {
  constructor(player) {
    this.player = player;
    this.said = el("p", { role: "status" });
    const word = (text, act) => el("button", { type: "button", class: "wide", onclick: act }, text);
    this.gif = word("Animation (GIF)", () => this.animate());
    this.link = el("a", { class: "wide", target: "_blank", rel: "noreferrer" }, "Open in the studio");
    this.studio = el("div", {}, el("p", {}, "The studio runs on your machine: start it by nlink studio, then"), this.link);
    this.node = dialog("Take along", word("Numbers (CSV)", () => this.table()), this.gif, this.studio, this.said);
    this.node.addEventListener("close", () => { this.closed = true; });
    this.button = button("Take along", "share", () => this.open(), { class: "quiet" });
  }

  open() {
    const { model } = this.player.content;
    this.studio.hidden = !model || window.parent !== window;
    if (model) this.link.href = STUDIO + encodeURIComponent(JSON.stringify(model));
    setText(this.said, "");
    this.closed = false;
    this.node.showModal();
  }

  name(ending) {
    return fileName(this.player.content.title, ending);
  }

  table() {
    const { player } = this;
    saveBlob(new Blob([csvOf(player.shown, player.motionOf(player.shown))], { type: "text/csv" }), this.name(".csv"));
    setText(this.said, "The page holds angles to 1e-5 rad.");
  }

  async animate() {
    const { player, gif } = this;
    player.pause();
    gif.disabled = true;
    const blob = await gifOf(player, (share) => { setText(this.said, `${Math.round(100 * share)} %`); return !this.closed; });
    gif.disabled = false;
    setText(this.said, "");
    if (blob) saveBlob(blob, this.name(".gif"));
    player.request();
  }
}
