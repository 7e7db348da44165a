// Panes that show motions side by side: near-copies, formulations, modes.

import { HUES, LivePlayer, LiveSpacePlayer } from "./live.js";
import { Pane, table } from "./pane.js";
import { choice } from "./fields.js";
import { counted } from "./building.js";
import { checkbox, el, wantsCalm } from "/web/dom.js";
import { valueText } from "/web/axes.js";

const DEGREE = 180 / Math.PI;

// A pane with a player that is made when there is something to show.
class PlayerPane extends Pane {
  play(content, ...before) {
    const Kind = content.takes[0].chain.space ? LiveSpacePlayer : LivePlayer;
    if (this.player instanceof Kind) {
      this.body.replaceChildren(...before, this.player.root);
      this.player.show(content);
    } else {
      const root = el("div", { class: "player" });
      this.body.replaceChildren(...before, root);
      this.player = new Kind(root, content);
    }
    this.player.setPlaying(false);
    if (!wantsCalm()) this.player.play();
    return this.player;
  }
}

// Differences as logarithms of degrees.
function apart(content, hues) {
  return content.apart.map((line, k) => ({ name: line.name, t: line.t, values: line.values.map((value) => value + Math.log10(DEGREE)), colour: hues[k % hues.length], width: 1.6 }));
}

export class CopiesPane extends PlayerPane {
  constructor(studio) {
    super(studio, { name: "Copies", kind: "copies", go: "Run copies", again: "compute", hint: "The same model several times, its first link each time turned a little further: watch when they part." });
    this.values = { copies: 5, apart: 1e-5 / DEGREE };
    this.place(this.number("Copies", "copies"), this.number("Apart by", "apart", "\u00b0", "degrees"));
  }

  done(message, content) {
    const player = this.play(content);
    player.extra("Difference of the copies (log\u2081\u2080 \u00b0)", apart(content, ["accent"]));
    const { t, values } = content.apart[0], k = values.findIndex((value) => value > Math.log10(5 / DEGREE));
    this.say(k < 0 ? "the copies stay together" : `the copies differ by 5\u00b0 from t = ${valueText(t[k], 3)} s on`);
  }
}

export class ComparePane extends PlayerPane {
  constructor(studio, known) {
    super(studio, { name: "Compare", kind: "compare", go: "Compare", again: "compute", hint: "One chain in several formulations: do they agree, and until when can the run be trusted?" });
    this.chosen = new Set(["recursive", "momentum", "maximal", "natural"]);
    this.boxes = el("div", { class: "boxes", role: "group", "aria-label": "Formulations" });
    this.place(this.boxes);
    this.offer({ formulations: known.formulations });
  }

  // Those that take the model, of which the chosen ones are compared.
  offer(offers) {
    super.offer(offers);
    const { chosen } = this, text = JSON.stringify(offers.formulations);
    if (text === this.offered) return;
    this.offered = text;
    if (offers.formulations.filter((name) => chosen.has(name)).length < 2) for (const name of offers.formulations) chosen.add(name);
    const choose = (name, on) => { if (on) chosen.add(name); else chosen.delete(name); tell(); };
    const tell = () => { this.values.formulations = offers.formulations.filter((name) => chosen.has(name)); };
    this.boxes.replaceChildren(...offers.formulations.map((name) => checkbox(name, chosen.has(name), (on) => choose(name, on))));
    tell();
  }

  done(message, content) {
    const { rows, trusted_until: trusted, angle } = message.table, size = (value) => (value === null ? "\u2013" : valueText(value, 2));
    const cells = rows.map((row) => (row.largest_difference === null ? [row.formulation, row.integrator, row.message, "", "", "", ""]
      : [row.formulation, row.integrator.replace(/\(.*?order=(\d+).*\)/, ", order $1").replace(/\(.*/, ""), size(row.largest_difference * DEGREE), `${valueText(row.trusted_until, 4)} s`, size(row.energy_residual), row.steps.toLocaleString("en"), `${valueText(row.wall, 2)} s`]));
    const hues = ["accent", ...HUES], heads = ["formulation", "integrator", "differs by \u00b0", "trusted until", "energy residual J", "steps", "time"];
    const player = this.play(content, table(heads, cells));
    player.extra("Difference from the reference (log\u2081\u2080 \u00b0)", apart(content, hues));
    this.say(trusted === null ? "" : `trusted until t = ${valueText(trusted, 4)} s, within ${valueText(angle * DEGREE, 2)}\u00b0`);
  }
}

export class ModesPane extends PlayerPane {
  constructor(studio) {
    super(studio, { name: "Modes", kind: "modes", go: "Find modes", again: "compute", automatic: true, hint: "Small motions about an equilibrium: frequencies, damping, shapes." });
    this.values = { from: "rest" };
    this.place(choice("Equilibrium", { path: "from", options: [["rest", "as it hangs"], ["start", "near the start"]], value: "rest", changed: (value) => { this.values.from = value; this.go(); } }));
  }

  done(message, content) {
    const heads = ["mode", "frequency rad/s", "Hz", "damping ratio", "growth 1/s"];
    const small = (value) => valueText(Math.abs(value) < 1e-12 ? 0 : value, 4);
    const list = table(heads, message.table.slice(0, 40).map(([frequency, hertz, ratio, growth], k) => [String(k + 1), small(frequency), small(hertz), small(ratio), small(growth)]));
    list.classList.add("short");
    const player = this.play(content, list);
    list.querySelectorAll("tbody tr").forEach((row, k) => {
      if (k >= content.takes.length) return;
      row.classList.add("pick");
      row.firstChild.replaceChildren(el("button", { type: "button", class: "link", onclick: () => player.take(k) }, String(k + 1)));
      row.addEventListener("click", () => player.take(k));
    });
    const turning = message.rate ? `, in steady turning at ${valueText(message.rate, 4)} rad/s, seen in the frame that turns with it` : "";
    this.say(`${message.stable ? "stable" : "not stable"} there${turning}; ${counted(message.table.length, "mode")}, press one to see it`);
  }
}
