// Reads the data that stand in a page and has them shown.

import { decoded } from "./data.js";

export async function boot(show) {
  const root = document.getElementById("nlink"), page = JSON.parse(document.getElementById("nlink-data").textContent);
  try {
    show(root, page, await decoded(page));
  } catch (error) {
    root.textContent = `This page cannot be shown: ${error.message}`;
    throw error;
  }
}
