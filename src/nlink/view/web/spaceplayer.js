// The player of a run in space: its camera turns about the chain.

import { Player } from "./player.js";
import { SpaceMotion } from "./spacemotion.js";
import { SpacePanels } from "./spacepanels.js";
import { SpaceStage } from "./spacestage.js";

const STEP = Math.PI / 12;
const ASIDE = Math.PI / 2;
const SHIFT = 40;
const MORE = [["4 6 8 2", "turn the view left, right, up, down"], ["1 3 7", "look from the front, the side, above"], ["arrows", "on the stage, once Tab has reached it: turn the view, with Shift move it"]];

export class SpacePlayer extends Player {
  constructor(root, content, options) {
    super(root, content, options);
    const { azimuth, elevation } = content.look ?? {};
    if (azimuth !== undefined) this.stage.from(azimuth, elevation);
    const { canvas } = this.stage, aim = (on) => () => { this.aims = on && canvas.matches(":focus-visible"); };
    canvas.setAttribute("aria-description", "Arrow keys turn the view, with Shift they move it");
    for (const kind of ["focus", "blur", "pointerdown"]) canvas.addEventListener(kind, aim(kind === "focus"));
  }

  stageOn(...given) {
    return new SpaceStage(...given);
  }

  panelsFor(acts) {
    return new SpacePanels(acts);
  }

  motionOf({ chain, t, rows, rates }) {
    return new SpaceMotion(chain, t, rows, rates);
  }

  firstOf({ chain }) {
    return chain.n - 1;
  }

  moreKeys() {
    return MORE;
  }

  onStage() {
    return "drag to turn, with Shift or two fingers to move, wheel or pinch to zoom, double-click to look from the front";
  }

  traceTip() {
    const { motion, link } = this, { chain } = motion, own = motion.trace !== chain.trace;
    motion.trace = own ? chain.trace : [link, chain.length[link]];
    motion.swept = undefined;
    this.request();
  }

  actions() {
    const { stage } = this, degrees = (angle) => Math.round((180 * angle) / Math.PI);
    const look = (...way) => () => { stage.from(...way); this.say(`seen from ${degrees(stage.camera.azimuth)}\u00b0 around, ${degrees(stage.camera.elevation)}\u00b0 above`); };
    const turn = (x, y) => () => look(stage.camera.azimuth - x * STEP, stage.camera.elevation + y * STEP)();
    const steer = (x, y) => (back) => (back < 0 ? stage.pan(-SHIFT * x, -SHIFT * y, true) : turn(x, y)());
    const aimed = this.aims ? { ArrowLeft: steer(1, 0), ArrowRight: steer(-1, 0), ArrowUp: steer(0, 1), ArrowDown: steer(0, -1) } : {};
    return { ...super.actions(), ...aimed, 4: turn(1, 0), 6: turn(-1, 0), 8: turn(0, 1), 2: turn(0, -1), 1: look(0, 0), 3: look(ASIDE, 0), 7: look(0, ASIDE) };
  }
}
