// What can be taken along: files of the run, its plots, the model, and an address that holds the model.

import { addressOf } from "./brought.js";
import { choice } from "./fields.js";
import { dialog, el, fileName, saveBlob } from "/web/dom.js";
import { tokens } from "/web/colours.js";

const FILES = [["html", "Page that plays (HTML)"], ["gif", "Animation (GIF)"], ["mp4", "Video (MP4)"], ["csv", "Numbers (CSV)"], ["nc", "Run (netCDF)"]];
const FORMATS = ["png", "svg", "pdf"];

export class Taking {
  constructor(studio) {
    this.studio = studio;
    this.values = { plot: "energy", format: "png" };
    this.said = el("p", { class: "said", role: "status" });
    this.wrong = el("p", { class: "error", role: "alert", hidden: true });
    this.files = FILES.map(([kind, text]) => this.button(text, () => this.take(kind)));
    this.plot = this.button("Download the plot", () => this.take(this.values.format, { plot: this.values.plot }));
    const pick = (label, name, options) => choice(label, { path: name, options: options.map((one) => [one, one]), value: this.values[name], changed: (value) => { this.values[name] = value; } });
    this.plots = el("div", {});
    this.choosePlots = (names) => this.plots.replaceChildren(pick("Plot", "plot", names));
    this.field = el("input", { type: "text", readonly: true, "aria-label": "Address with the model", onfocus: (event) => event.currentTarget.select() });
    const copy = el("button", { type: "button", class: "copy", onclick: () => this.copy(copy) }, "Copy");
    this.node = dialog("Take along", el("h3", {}, "The run"), el("div", { class: "choices" }, ...this.files), el("h3", {}, "A plot"), this.plots, pick("Format", "format", FORMATS), this.plot,
      el("h3", {}, "The model"), el("div", { class: "choices" }, this.button("Model file (TOML)", () => this.text("toml", ".toml")), this.button("Python", () => this.text("python", ".py"))),
      el("p", { class: "hint" }, "This address holds the model, behind #. It opens a studio that runs on the same port with it; nothing is sent anywhere."), el("div", { class: "address" }, this.field, copy), this.said, this.wrong);
  }

  button(text, act) {
    return el("button", { type: "button", class: "word", onclick: act }, text);
  }

  open() {
    const { offers } = this.studio.valid;
    if (!offers.plots.includes(this.values.plot)) this.values.plot = "energy";
    this.choosePlots(offers.plots);
    const { run } = this.studio.motion, there = Boolean(run && (run.kept || run.name));
    for (const one of [...this.files, this.plot]) one.disabled = !there || Boolean(this.job);
    this.tell(there ? "" : "The run is not complete yet; its files can be had once it is.");
    this.field.value = addressOf(this.studio.model.table);
    this.node.showModal();
  }

  get stem() {
    return this.studio.model.table.title || "chain";
  }

  take(what, more = {}) {
    const { line, motion: { run } } = this.studio, from = run.name ? { name: run.name } : { run: run.job };
    this.busy(true);
    this.tell("preparing");
    const name = fileName(this.stem, `${more.plot ? `-${more.plot}` : ""}.${what}`);
    this.job = line.start("take", { ...from, ...more, what, theme: tokens().dark ? "dark" : "light" }, (message) => this.hear(message, what, name));
  }

  async hear(message, what, name) {
    const { line } = this.studio;
    if (message.type === "progress") this.tell(`${Math.round((100 * message.done) / message.total)} % of ${name}`);
    else if (message.type === "compiling") this.tell(message.text);
    else if (message.type === "done") {
      saveBlob(await line.file(`/api/taken/${line.session}/${this.job}/${what}`), name);
      this.over(`downloaded ${name}`);
    } else if (message.type === "failed") this.over("", message.text);
    else if (message.type === "stopped") this.over("stopped");
  }

  over(text, error = "") {
    this.job = null;
    this.busy(false);
    this.tell(text, error);
  }

  busy(on) {
    for (const one of [...this.files, this.plot]) one.disabled = on;
  }

  tell(text, error = "") {
    this.said.textContent = text;
    Object.assign(this.wrong, { hidden: !error, textContent: error });
  }

  async text(key, ending) {
    const answer = await this.studio.line.ask("/api/code", { model: this.studio.model.table });
    if (answer.error) this.tell("", answer.error.text);
    else saveBlob(new Blob([answer[key]], { type: "text/plain" }), fileName(this.stem, ending));
  }

  async copy(button) {
    this.field.select();
    const done = await (navigator.clipboard?.writeText(this.field.value) ?? Promise.reject()).then(() => true, () => document.execCommand("copy"));
    button.textContent = done ? "Copied" : "Press Ctrl C";
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  }
}
