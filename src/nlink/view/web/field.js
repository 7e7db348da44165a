// A map: a two-dimensional array as a picture with axes, zoom and pan, and the value under the pointer.

import { definitions, dialog, download, el, fileName, headButtons, select, sized, viewTools } from "./dom.js";
import { extent, multiples, tickStep, tickText, valueText } from "./axes.js";
import { embers, onTheme, parsed, tokens, toggleTheme, viridis } from "./colours.js";
import { gestures } from "./gestures.js";
import { setText } from "./panels.js";

const INSET = { left: 80, right: 16, top: 14, bottom: 46 };
const NEVER = [19, 17, 28];
const MAP_KEYS = [["arrows", "move"], ["+ \u2212", "zoom in, out"], ["f", "fit"], ["d", "dark or light"], ["p", "save as PNG"], ["i", "in words"], ["?", "these keys"]];

export class Field {
  // content: { title, summary, words, about, x, y, xlabel, ylabel, square, layers: [{ name, unit, values (rows of y), kinds: [names] | null,
  // log, blank, never: what -Infinity and NaN mean }] }
  constructor(root, content) {
    Object.assign(this, { root, content, layer: 0, pointer: null });
    this.canvas = el("canvas", { role: "img", tabindex: 0, "aria-label": `${content.title}: ${content.summary}` });
    this.readout = el("p", { class: "readout" });
    this.legend = el("div", { class: "scale" });
    this.said = el("p", { class: "hidden", role: "status", "aria-live": "polite" });
    this.help = dialog("Keys", definitions(MAP_KEYS), el("p", {}, "Drag to move, wheel or pinch to zoom, double-click to fit; tap for the value at a point."));
    this.about = dialog("This map", definitions(content.words), el("p", { class: "made" }, content.about));
    const view = el("main", { class: "stage", "aria-label": "Map" }, this.canvas, viewTools(this, 1.4, "Save as PNG (p)", () => this.save()));
    root.classList.add("nlink", "field");
    root.replaceChildren(this.header(), view, el("footer", { class: "bar" }, this.legend, this.readout), this.help, this.about, this.said);
    gestures(this.canvas, {
      pan: (dx, dy) => this.pan(dx, dy), zoom: (factor, x, y) => this.zoom(factor, x, y), fit: () => this.fit(), free: () => !this.fitted,
      tap: (x, y) => { this.hover(x, y); this.said.textContent = this.readout.textContent; }, hover: (x, y) => this.hover(x, y),
    });
    new ResizeObserver(() => this.request()).observe(this.canvas);
    document.addEventListener("keydown", (event) => this.key(event));
    onTheme(() => this.request());
    root.field = this;
    this.edges = [edgesOf(content.x), edgesOf(content.y)];
    this.fit();
    this.show(0);
  }

  header() {
    const { content } = this, layers = content.layers.map((layer, k) => [k, layer.name]);
    return el("header", { class: "head" },
      el("div", { class: "names" }, el("h1", {}, content.title), el("p", { class: "summary" }, content.summary)),
      layers.length > 1 ? select("What is shown", layers, 0, (k) => this.show(Number(k))) : null,
      headButtons("In words (i)", this));
  }

  // Colour one layer: kinds by the colours of the page, numbers by viridis, those about zero by two hues.
  show(k) {
    const { content } = this, layer = content.layers[k], wide = content.x.length, high = content.y.length;
    this.layer = k;
    this.colours = tokens();
    this.picture = document.createElement("canvas");
    [this.picture.width, this.picture.height] = [wide, high];
    const context = this.picture.getContext("2d"), image = context.createImageData(wide, high), colour = this.colouring(layer);
    for (let row = 0; row < high; row++) {
      for (let column = 0; column < wide; column++) {
        const at = 4 * ((high - 1 - row) * wide + column), [r, g, b] = colour(layer.values[row * wide + column]);
        image.data[at] = r;
        image.data[at + 1] = g;
        image.data[at + 2] = b;
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    this.tellColours(layer);
    this.request();
  }

  colouring(layer) {
    if (layer.kinds) {
      const colours = this.kindColours(layer.kinds);
      return (value) => colours[value] || [128, 128, 128];
    }
    const scale = valueScale(layer.values, layer.log);
    const ramp = layer.log ? embers : viridis, { blank, hole } = this.holes(layer);
    return (value) => (Number.isFinite(value) ? ramp(scale.share(value)) : value === -Infinity ? blank : hole);
  }

  // The colours of values that are none.
  holes({ log }) {
    const blank = parsed(this.colours.lines);
    return { blank, hole: log ? NEVER : blank };
  }

  kindColours(kinds) {
    const dark = this.colours.dark;
    if (kinds.length > 4) return kinds.map((_, k) => viridis(k / (kinds.length - 1)));
    const four = dark ? ["#24463f", "#c98a3a", "#b4524f", "#4f6fa8"] : ["#dcebe3", "#eab867", "#bb5a58", "#7f9cc9"];
    return four.map(parsed);
  }

  tellColours(layer) {
    const named = (colour, text) => {
      const swatch = el("i", {});
      swatch.style.background = `rgb(${colour.join(" ")})`;
      return el("span", { class: "kind" }, swatch, text);
    };
    if (layer.kinds) {
      this.legend.replaceChildren(...layer.kinds.map((kind, k) => named(this.kindColours(layer.kinds)[k], kind)));
      return;
    }
    const { blank, hole } = this.holes(layer), none = [[layer.blank, blank, (value) => value === -Infinity], [layer.never, hole, Number.isNaN]];
    const meanings = none.filter(([text, , is]) => text && layer.values.some(is)).map(([text, colour]) => named(colour, text));
    if (!layer.values.some(Number.isFinite)) {
      this.legend.replaceChildren(...meanings);
      return;
    }
    const { low, high, middle } = valueScale(layer.values, layer.log), ramp = el("i", { class: "ramp" });
    ramp.style.background = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((s) => `rgb(${(layer.log ? embers : viridis)(s).join(" ")})`).join(", ")})`;
    this.legend.replaceChildren(el("span", { class: "kind" }, valueText(low, 3), ramp, `${valueText(high, 3)} ${layer.unit}, in the middle ${valueText(middle, 3)}`), ...meanings);
  }

  fit() {
    this.window = this.edges.map((edges) => [...edges]);
    this.fitted = true;
    this.request();
  }

  // Where the map lies; a square one has the same scale across and up.
  box() {
    const width = this.width - INSET.left - INSET.right, height = this.height - INSET.top - INSET.bottom;
    if (!this.content.square) return { x: INSET.left, y: INSET.top, width, height };
    const [xr, yr] = this.window, scale = Math.min(width / (xr[1] - xr[0]), height / (yr[1] - yr[0])), wide = scale * (xr[1] - xr[0]), high = scale * (yr[1] - yr[0]);
    return { x: INSET.left + (width - wide) / 2, y: INSET.top + (height - high) / 2, width: wide, height: high };
  }

  pan(dx, dy) {
    const { width, height } = this.box(), [x, y] = this.window;
    this.slide(0, (-dx / width) * (x[1] - x[0]));
    this.slide(1, (dy / height) * (y[1] - y[0]));
    this.fitted = false;
    this.request();
  }

  // Move a side of the window, but not off the map.
  slide(side, by) {
    const [low, high] = this.edges[side], window = this.window[side];
    const least = low - window[0], most = high - window[1], moved = Math.min(Math.max(least, most), Math.max(Math.min(least, most), by));
    this.window[side] = [window[0] + moved, window[1] + moved];
  }

  zoom(factor, px, py) {
    const { x, y, width, height } = this.box();
    const at = [px === undefined ? 0.5 : (px - x) / width, py === undefined ? 0.5 : 1 - (py - y) / height];
    this.window = this.window.map(([low, high], side) => {
      const whole = this.edges[side][1] - this.edges[side][0], size = Math.min(whole, Math.max(whole / 500, (high - low) / factor));
      const from = low + at[side] * (high - low - size);
      return [from, from + size];
    });
    this.slide(0, 0);
    this.slide(1, 0);
    this.fitted = false;
    this.request();
  }

  hover(px, py) {
    this.pointer = px === null ? null : [px, py];
    this.request();
  }

  // The column and row under a point of the canvas, or null.
  cell([px, py]) {
    const { x, y, width, height } = this.box(), [xr, yr] = this.window, [ex, ey] = this.edges;
    if (px < x || px > x + width || py < y || py > y + height) return null;
    const across = xr[0] + ((px - x) / width) * (xr[1] - xr[0]), up = yr[1] - ((py - y) / height) * (yr[1] - yr[0]);
    const index = (value, [low, high], count) => Math.min(count - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * count)));
    return [index(across, ex, this.content.x.length), index(up, ey, this.content.y.length)];
  }

  request() {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = 0;
    if (this.colours !== tokens()) this.show(this.layer);
    const { context, width, height } = sized(this.canvas);
    Object.assign(this, { width, height });
    this.paint(context);
    this.point(context);
    this.moved?.();
  }

  paint(context) {
    const { colours, picture, width, height } = this, box = this.box(), [xr, yr] = this.window, [ex, ey] = this.edges;
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const perX = picture.width / (ex[1] - ex[0]), perY = picture.height / (ey[1] - ey[0]);
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, (xr[0] - ex[0]) * perX, (ey[1] - yr[1]) * perY, (xr[1] - xr[0]) * perX, (yr[1] - yr[0]) * perY, box.x, box.y, box.width, box.height);
    context.strokeStyle = colours.edge;
    context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
    this.scales(context, box);
  }

  scales(context, box) {
    const { colours, content } = this, [xr, yr] = this.window, xstep = tickStep(...xr, box.width / 90), ystep = tickStep(...yr, box.height / 56);
    Object.assign(context, { fillStyle: colours.muted, font: `12px ${colours.font}`, textAlign: "center", textBaseline: "top" });
    for (const x of multiples(...xr, xstep)) context.fillText(tickText(x, xstep), box.x + ((x - xr[0]) / (xr[1] - xr[0])) * box.width, box.y + box.height + 7);
    Object.assign(context, { textAlign: "right", textBaseline: "middle" });
    for (const y of multiples(...yr, ystep)) context.fillText(tickText(y, ystep), box.x - 8, box.y + ((yr[1] - y) / (yr[1] - yr[0])) * box.height);
    Object.assign(context, { fillStyle: colours.ink, font: `13px ${colours.font}`, textAlign: "center" });
    context.fillText(content.xlabel, box.x + box.width / 2, box.y + box.height + 34);
    context.save();
    context.translate(box.x - INSET.left + 18, box.y + box.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(content.ylabel, 0, 0);
    context.restore();
  }

  point(context) {
    const { content, colours } = this, layer = content.layers[this.layer], cell = this.pointer && this.cell(this.pointer);
    if (!cell) {
      setText(this.readout, "Point at the map to read its values.");
      return;
    }
    const [column, row] = cell, at = row * content.x.length + column, box = this.box(), [px, py] = this.pointer;
    const none = (each) => (each.values[at] === -Infinity ? each.blank : each.never) || "none";
    const told = content.layers.map((each) => `${each.name}: ${each.kinds ? each.kinds[each.values[at]] : Number.isFinite(each.values[at]) ? `${valueText(each.values[at])} ${each.unit}` : none(each)}`);
    setText(this.readout, `${content.xlabel} ${valueText(content.x[column])}, ${content.ylabel} ${valueText(content.y[row])}: ${told.join(", ")}`);
    Object.assign(context, { strokeStyle: layer.kinds || !colours.dark ? colours.ink : colours.ground, globalAlpha: 0.55 });
    context.beginPath();
    context.moveTo(box.x, Math.round(py) + 0.5);
    context.lineTo(box.x + box.width, Math.round(py) + 0.5);
    context.moveTo(Math.round(px) + 0.5, box.y);
    context.lineTo(Math.round(px) + 0.5, box.y + box.height);
    context.stroke();
    context.globalAlpha = 1;
  }

  save() {
    this.pointer = null;
    this.draw();
    download(this.canvas, fileName(this.content.title, ".png"));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.root.querySelector("dialog[open]") || event.target.matches?.("select")) return;
    const acts = {
      "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), f: () => this.fit(), d: toggleTheme, p: () => this.save(),
      i: () => this.about.showModal(), "?": () => this.help.showModal(), ArrowLeft: () => this.pan(40, 0), ArrowRight: () => this.pan(-40, 0),
      ArrowUp: () => this.pan(0, 40), ArrowDown: () => this.pan(0, -40),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
}

// Which share of the colours a value takes: even between the ends; by its logarithm if asked for, the lowest few taken together; or,
// where a few values are far from all others, by asinh.
function valueScale(values, log) {
  const known = values.filter((value) => Number.isFinite(value) && (!log || value > 0)), sizes = known.map(Math.abs).sort();
  const [least, high] = extent(known), low = log ? sizes[Math.floor(0.02 * sizes.length)] : least, size = sizes[known.length >> 1];
  const wide = !log && high - low > 20 * size && size > 0;
  const bend = log ? Math.log : wide ? (value) => Math.asinh(value / size) : (value) => value;
  const from = bend(low), span = bend(high) - from || 1, half = from + span / 2;
  return { low, high, middle: log ? Math.exp(half) : wide ? size * Math.sinh(half) : half, share: (value) => (bend(value) - from) / span };
}

// The outer edges of cells about equally spaced values.
export function edgesOf(values) {
  const first = values[0], last = values[values.length - 1], half = values.length > 1 ? (last - first) / (values.length - 1) / 2 : 0.5;
  return [first - half, last + half];
}
