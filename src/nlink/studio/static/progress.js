// A bar: how much of a computation is done, or that nobody knows.

import { el } from "/web/dom.js";

export class Progress {
  constructor(label) {
    this.node = el("div", { class: "progress", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100, hidden: true }, el("i", {}));
  }

  // share: from 0 to 1; null: not known
  show(share) {
    this.node.classList.toggle("waiting", share === null);
    this.node.firstChild.style.width = `${100 * (share ?? 1)}%`;
    if (share === null) this.node.removeAttribute("aria-valuenow");
    else this.node.setAttribute("aria-valuenow", Math.round(100 * share));
  }
}
