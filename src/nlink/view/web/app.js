// The page on its own: reads the data that stand in it and shows them. A page that mounts a Player or a Field itself leaves this out.

import { Field } from "./field.js";
import { Player } from "./player.js";
import { boot } from "./boot.js";

boot((root, { kind }, content) => {
  if (kind === "map") new Field(root, content);
  else new Player(root, content, { autoplay: window.parent === window || location.hash === "#play" });
});
