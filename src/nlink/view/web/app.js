// The page on its own: reads the data that stand in it and shows them. A page that mounts a Player or a Field itself leaves this out.

import { Field } from "./field.js";
import { Player } from "./player.js";
import { decoded } from "./data.js";

async function boot() {
  const root = document.getElementById("nlink"), page = JSON.parse(document.getElementById("nlink-data").textContent);
  try {
    const content = await decoded(page);
    if (page.kind === "map") new Field(root, content);
    else new Player(root, content, { autoplay: window.parent === window || location.hash === "#play" });
  } catch (error) {
    root.textContent = `This page cannot be shown: ${error.message}`;
    throw error;
  }
}

boot();
