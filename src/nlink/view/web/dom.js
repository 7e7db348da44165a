// Small helpers for the document: elements, icons, buttons. Text is only ever set as text, never parsed as HTML.

import { toggleTheme } from "./colours.js";

const SVG = "http://www.w3.org/2000/svg";

// Shapes on a grid of 24: filled paths, or (after a ~) stroked ones.
const ICONS = {
  play: "M8 5.2v13.6a.6.6 0 0 0 .92.5l10.4-6.8a.6.6 0 0 0 0-1L8.92 4.7A.6.6 0 0 0 8 5.2z",
  pause: "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z",
  back: "~M14.5 6 8.5 12l6 6M18 6v12",
  forward: "~M9.5 6l6 6-6 6M6 6v12",
  start: "~M18 6l-6 6 6 6M12 6l-6 6 6 6",
  loop: "~M17 3l3 3-3 3M4 11V9a3 3 0 0 1 3-3h13M7 21l-3-3 3-3M20 13v2a3 3 0 0 1-3 3H4",
  plus: "~M12 5v14M5 12h14",
  minus: "~M5 12h14",
  fit: "~M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  camera: "~M4 8h3.5L9 5.5h6L16.5 8H20v11H4zM12 16.5a3.3 3.3 0 1 0 0-6.6 3.3 3.3 0 0 0 0 6.6z",
  theme: "~M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 4v16M12 8h6.5M12 12h8M12 16h6.5",
  help: "~M9.2 9.2a2.9 2.9 0 1 1 4.3 2.6c-1 .55-1.5 1.2-1.5 2.4M12 17.4v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  info: "~M12 11v6M12 7.4v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  view: "~M4 7h9M17 7h3M4 12h3M11 12h9M4 17h7M15 17h5M15 5v4M9 10v4M13 15v4",
  close: "~M6 6l12 12M18 6L6 18",
  undo: "~M8 5 4 9l4 4M4 9h10a5.5 5.5 0 0 1 0 11h-4",
  share: "~M12 15V4M8 7.5 12 3.5l4 4M5 11.5V20h14v-8.5",
  pose: "M6 3.5v15l4-3.6 2.4 5.6 2.3-1-2.4-5.5h5.4z",
  link: "~M6.8 17.2 17.2 6.8M5 21a2.2 2.2 0 1 0 0-4.4A2.2 2.2 0 0 0 5 21zM19 7.4A2.2 2.2 0 1 0 19 3a2.2 2.2 0 0 0 0 4.4z",
  slider: "~M3 17h18M7 9h10v8H7z",
  ground: "~M12 4v6M12 10l-6 6h12zM4 16h16M7 16l-3 4M12 16l-3 4M17 16l-3 4",
  point: "~M12 15.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM12 3v3.5M12 17.5V21M3 12h3.5M17.5 12H21",
  spring: "~M12 2.5v3l5 2-10 3 10 3-10 3 5 2v3",
  bin: "~M5 7h14M9.5 7V4.5h5V7M7 7l1 13h8l1-13",
  crank: "~M12 20a8 8 0 1 1 8-8M20 12l-2.6-2.4M20 12l2.4-2.6M12 12l4-4",
  redo: "~M16 5l4 4-4 4M20 9H10a5.5 5.5 0 0 0 0 11h4",
};

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function icon(name) {
  const shape = ICONS[name], stroked = shape.startsWith("~");
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", stroked ? "icon stroked" : "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", stroked ? shape.slice(1) : shape);
  svg.append(path);
  return svg;
}

// A button with an icon. Pressed by a pointer it gives the focus back, so that the space bar goes on playing, not pressing it.
export function button(label, iconName, act, attributes = {}) {
  const onclick = (event) => {
    if (event.detail) event.currentTarget.blur();
    act();
  };
  return el("button", { type: "button", "aria-label": label, title: label, onclick, ...attributes }, icon(iconName));
}

// A button that opens a panel with what it holds; a press elsewhere or Escape closes it.
export function dropdown(label, iconName, ...children) {
  const panel = el("div", { class: "panel" }, ...children);
  const menu = el("details", { class: "menu" }, el("summary", { "aria-label": label, title: label }, icon(iconName), el("span", {}, label)), panel);
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

// A canvas that a screen reader takes for a picture.
export function picture(label) {
  return el("canvas", { role: "img", "aria-label": label });
}

export function select(label, options, value, onchange, title = label) {
  const choices = options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text));
  return el("select", { "aria-label": label, title, onchange: (event) => onchange(event.currentTarget.value) }, ...choices);
}

export function checkbox(label, checked, onchange) {
  const box = el("input", { type: "checkbox", checked, onchange: (event) => onchange(event.currentTarget.checked) });
  return el("label", { class: "check" }, box, el("span", {}, label));
}

// A dialog with a title, a button that closes it, and what it holds.
export function dialog(title, ...children) {
  const close = button("Close", "close", () => box.close(), { class: "quiet" });
  const onclick = (event) => { if (event.target === box) box.close(); };
  const box = el("dialog", { "aria-label": title, onclick }, el("header", {}, el("h2", {}, title), close), ...children);
  return box;
}

export function definitions(rows) {
  return el("dl", {}, ...rows.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}

// Give a canvas the pixels of its place on the screen; return its context, width and height in CSS pixels.
export function sized(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const width = Math.max(1, canvas.clientWidth), height = Math.max(1, canvas.clientHeight);
  const wide = Math.round(width * ratio), high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

export function download(canvas, name) {
  canvas.toBlob((blob) => saveBlob(blob, name), "image/png");
}

export function saveBlob(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// The place of an event in an element, in CSS pixels.
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

export function drawLine(context, from, to, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

export function drawDisc(context, [x, y], radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

// Whether the reader asks for less motion.
export function wantsCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// The buttons at the head of a page: its dialog of words, its help, dark or light.
export function headButtons(words, { about, help }) {
  const quiet = { class: "quiet" };
  return el("div", { class: "buttons" }, button(words, "info", () => about.showModal(), quiet), button("Keys and help (?)", "help", () => help.showModal(), quiet),
    button("Dark or light (d)", "theme", toggleTheme, { class: "quiet theme" }));
}

// Show on a button whether something plays.
export function showPlaying(node, playing) {
  node.replaceChildren(icon(playing ? "pause" : "play"));
  for (const name of ["aria-label", "title"]) node.setAttribute(name, playing ? "Pause (space)" : "Play (space)");
}

// The name of a key that a page may act on; not in a dialog, nor in fields into which it is typed, nor where it presses something.
export function keyOf({ target, key, ctrlKey, metaKey, altKey }, root, fields) {
  const name = key.length === 1 ? key.toLowerCase() : key, typed = target.matches?.(name === " " ? `${fields}, button, summary, input[type=checkbox]` : fields);
  return ctrlKey || metaKey || altKey || typed || root.querySelector("dialog[open]") ? "" : name;
}

// The buttons on a stage: zoom by a factor, fit, save as PNG.
export function viewTools(view, factor, label, save) {
  return el("div", { class: "tools" }, button("Zoom in (+)", "plus", () => view.zoom(factor)), button("Zoom out (\u2212)", "minus", () => view.zoom(1 / factor)),
    button("Fit (f)", "fit", () => view.fit()), button(label, "camera", save, { class: "png" }));
}

export function fileName(title, ending) {
  const stem = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${stem || "nlink"}${ending}`;
}
