// The page of a run in space on its own.

import { SpacePlayer } from "./spaceplayer.js";
import { boot } from "./boot.js";

boot((root, page, content) => new SpacePlayer(root, content, { autoplay: window.parent === window || location.hash === "#play" }));
