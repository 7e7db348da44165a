// The player of a run in space: its camera turns about the chain.

import { Player } from "./player.js";
import { SpaceMotion } from "./spacemotion.js";
import { SpacePanels } from "./spacepanels.js";
import { SpaceStage } from "./spacestage.js";

const STEP = Math.PI / 12;
const ASIDE = Math.PI / 2;
const MORE = [["4 6 8 2", "turn the view left, right, up, down"], ["1 3 7", "look from the front, the side, above"]];

export class SpacePlayer extends Player {
  constructor(root, content, options) {
    super(root, content, options);
    const { azimuth, elevation } = content.look ?? {};
    if (azimuth !== undefined) this.stage.from(azimuth, elevation);
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
    const { stage } = this, turn = (x, y) => () => { stage.camera.turn(x * STEP, y * STEP); this.request(); }, look = (...way) => () => stage.from(...way);
    return { ...super.actions(), 4: turn(1, 0), 6: turn(-1, 0), 8: turn(0, 1), 2: turn(0, -1), 1: look(0, 0), 3: look(ASIDE, 0), 7: look(0, ASIDE) };
  }
}
