// A short tour: a few sentences, one at a time, each beside what it is about. It never stands in the way, and is shown once.

import { el } from "/web/dom.js";
import { recalled, remember } from "/web/memory.js";

const SEEN = "nlink-tour";
const GAP = 10;
const NARROW = 860;
const STEPS = [
  [".pane:not([hidden]) .stage", "It moves. Drag any point of a link, also while it moves: let go with a swing to throw it.", "inside"],
  [".toolbox", "Draw linkages, on what is there or, with New, on an empty stage: links, sliders, what holds them. The last tool drives a crank, and the line below says what the linkage is.", "inside"],
  [".editor", "Change the chain, its start or its loads: it runs again at each change, and the plots follow.", "beside"],
  [".gobar", "Run starts from the beginning. Endless goes on in real time: pull the chain with the mouse, change gravity or friction on the way, then save what happened.", "beside"],
  [".tabs", "The same chain seen in other ways: copies that part, formulations side by side, modes, stability, the map of flips, equations, code.", "below"],
  [".top", "Begin with a preset, open and save models and runs; Take along has downloads of all kinds and a link. The question mark has all keys, and this tour again.", "below"],
];

export class Tour {
  constructor(root) {
    this.root = root;
    this.text = el("p", { id: "tour-text" });
    this.count = el("small", {});
    this.next = el("button", { type: "button", class: "word", onclick: () => this.go(this.at + 1) }, "Next");
    this.back = el("button", { type: "button", class: "word", onclick: () => this.go(this.at - 1) }, "Back");
    const close = el("button", { type: "button", class: "word", onclick: () => this.end() }, "Close");
    this.node = el("aside", { class: "tour", role: "dialog", "aria-label": "Tour", "aria-describedby": "tour-text", hidden: true, onkeydown: (event) => this.key(event) }, this.text, el("footer", {}, this.count, close, this.back, this.next));
    window.addEventListener("resize", () => this.place());
  }

  // For those who have not seen it.
  offer() {
    if (recalled(SEEN) === null) this.start();
  }

  // asked: by the user, who then wants the keys to go there
  start(asked = false) {
    this.node.hidden = false;
    this.go(0);
    if (asked) this.next.focus();
  }

  end() {
    this.node.hidden = true;
    this.mark(null);
    remember(SEEN, "seen");
  }

  go(at) {
    if (at < 0) return;
    if (at >= STEPS.length) {
      this.end();
      return;
    }
    this.at = at;
    this.text.textContent = STEPS[at][1];
    this.count.textContent = `${at + 1} of ${STEPS.length}`;
    this.back.disabled = at === 0;
    this.next.textContent = at === STEPS.length - 1 ? "Done" : "Next";
    this.mark(this.root.querySelector(STEPS[at][0]));
    this.place();
  }

  mark(target) {
    this.root.querySelector(".toured")?.classList.remove("toured");
    target?.classList.add("toured");
  }

  // Beside what it is about, inside the window.
  place() {
    const target = this.root.querySelector(".toured");
    if (this.node.hidden || !target) return;
    const box = target.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = this.node, [, , where] = STEPS[this.at];
    const [x, y] = where === "beside" ? [box.right + GAP, box.top + GAP] : where === "below" ? [box.left + 0.3 * box.width, box.bottom + GAP] : [box.left + GAP, box.bottom - height - 4 * GAP];
    if (innerWidth < NARROW) {
      this.node.style.left = `${GAP}px`;
      this.node.style.top = `${innerHeight - height - GAP}px`;
      return;
    }
    this.node.style.left = `${Math.max(GAP, Math.min(innerWidth - width - GAP, x))}px`;
    this.node.style.top = `${Math.max(GAP, Math.min(innerHeight - height - GAP, y))}px`;
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") this.end();
    else if (step) this.go(this.at + step);
    else return;
    event.stopPropagation();
    event.preventDefault();
  }
}
