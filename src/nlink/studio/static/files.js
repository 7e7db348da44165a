// The dialogs that open and save: model files of this computer, runs of the runs folder.

import { clearErrors, field, showError } from "./fields.js";
import { dialog, el, fileName, saveBlob } from "/web/dom.js";

const MOST = 900000;

export class Files {
  constructor(studio) {
    this.studio = studio;
    this.list = el("div", {});
    this.chooser = el("input", { type: "file", accept: ".toml,text/plain", "aria-label": "Model file" });
    this.chooser.addEventListener("change", () => this.read(this.chooser.files[0]));
    this.wrong = el("p", { class: "error", role: "alert", hidden: true });
    this.opening = dialog("Open", el("h3", {}, "A model file (TOML)"), this.chooser, this.wrong, el("h3", {}, "A saved run"), this.list);
    this.form = el("form", { onsubmit: (event) => { event.preventDefault(); this.save(); } });
    this.saving = dialog("Save", this.form);
  }

  async open() {
    this.wrong.hidden = true;
    this.chooser.value = "";
    this.opening.showModal();
    await this.fill();
  }

  async fill() {
    const answer = await this.studio.line.ask("/api/runs");
    if (answer.error) this.complain(answer.error);
    const rows = (answer.runs || []).map((run) => el("li", {}, el("button", { type: "button", class: "link", onclick: () => { this.opening.close(); this.studio.openRun(run.name); } }, run.name),
      el("small", {}, `${run.date}, ${size(run.size)}`), el("button", { type: "button", class: "text-button", "aria-label": `Download ${run.name}`, onclick: () => this.download(run.name) }, "Download"),
      el("button", { type: "button", class: "text-button", "aria-label": `Delete ${run.name}`, onclick: () => this.remove(run.name) }, "Delete")));
    this.list.replaceChildren(rows.length ? el("ul", { class: "runs" }, ...rows) : el("p", {}, "No run is saved yet."), el("p", {}, `in ${answer.folder || "the runs folder"}`));
  }

  complain({ text }) {
    Object.assign(this.wrong, { hidden: false, textContent: text });
  }

  async read(file) {
    if (!file) return;
    if (file.size > MOST) {
      this.complain({ text: `${file.name} is too large for a model file` });
      return;
    }
    const answer = await this.studio.line.ask("/api/read", { text: await file.text() });
    if (answer.error) this.complain(answer.error);
    else {
      this.opening.close();
      this.studio.model.load(answer.model);
    }
  }

  async download(name) {
    saveBlob(await this.studio.line.file(`/api/runs/${encodeURIComponent(name)}`), `${name}.nc`);
  }

  async remove(name) {
    const answer = await this.studio.line.ask(`/api/runs/${encodeURIComponent(name)}`, undefined, "DELETE");
    if (answer.error) this.complain(answer.error);
    await this.fill();
  }

  askSave() {
    const { run } = this.studio.motion, title = this.studio.model.table.title || "chain";
    this.name = fileName(title, "").slice(0, 40).replace(/-+$/, "");
    const model = el("button", { type: "button", class: "go wide", onclick: () => this.saveModel() }, "Download the model (TOML)");
    const parts = run?.kept ? [el("h3", {}, "The run, to the runs folder"), field("Name", { path: "name", kind: "text", wide: true, value: this.name, changed: (value) => { this.name = value; } }), el("button", { type: "submit", class: "go wide" }, "Save the run")] : [el("p", {}, "There is no run to save yet; the model can be saved.")];
    this.form.replaceChildren(...parts, el("h3", {}, "The model"), model);
    this.saving.showModal();
  }

  async saveModel() {
    const answer = await this.studio.line.ask("/api/code", { model: this.studio.model.table });
    if (!answer.error) saveBlob(new Blob([answer.toml], { type: "text/plain" }), `${this.name}.toml`);
    this.saving.close();
  }

  async save() {
    clearErrors(this.form);
    const { run } = this.studio.motion;
    if (!run?.kept) return;
    const answer = await this.studio.line.ask("/api/runs", { session: this.studio.line.session, job: run.job, name: this.name });
    if (answer.error) showError(this.form, { ...answer.error, path: "name" });
    else {
      this.saving.close();
      this.studio.motion.say(`saved as ${answer.name}`);
    }
  }
}

function size(bytes) {
  return bytes > 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1000)} kB`;
}
