// Colours: those of the page, read from its style sheet, and those of links and values, after viridis and inferno.

import { recalled, remember } from "./memory.js";

const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37],
];
const EMBERS = [
  [245, 249, 146], [248, 207, 58], [252, 159, 7], [242, 116, 28], [221, 81, 58],
  [188, 55, 84], [151, 39, 102], [111, 25, 110], [73, 11, 106], [30, 12, 69],
];
const NAMES = ["ground", "panel", "ink", "muted", "lines", "edge", "accent", "second", "third", "fourth", "fifth", "warn"];

const THEME = "nlink-theme";
const SYSTEM = matchMedia("(prefers-color-scheme: dark)");
let current = {};

function blended(stops, share) {
  const x = Math.min(1, Math.max(0, share)) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(x));
  return stops[k].map((part, i) => Math.round(part + (x - k) * (stops[k + 1][i] - part)));
}

export const viridis = (share) => blended(VIRIDIS, share);
// Bright at first, dark at last: after inferno, turned around.
export const embers = (share) => blended(EMBERS, share);

export function rgb(parts) {
  return `rgb(${parts[0]} ${parts[1]} ${parts[2]})`;
}

// n colours from the pivot outwards, without the end of the scale that the ground would swallow.
export function linkColours(n, dark) {
  const [low, high] = dark ? [0.4, 0.97] : [0.1, 0.78];
  return Array.from({ length: n }, (_, i) => rgb(viridis(low + (high - low) * (n > 1 ? i / (n - 1) : 0.35))));
}

export function shade(share, dark) {
  return rgb(viridis(dark ? 0.25 + 0.75 * share : 0.08 + 0.8 * share));
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : SYSTEM.matches;
}

// Dashes and gaps in widths of a line, from "6 2"; none from "0", a whole line.
function dashesOf(text) {
  return text === "0" ? [] : text.split(" ").map(Number);
}

// The colours, dashes and font of the page: another object once the theme has changed.
export function tokens() {
  const dark = isDark();
  if (current.dark !== dark) {
    const style = getComputedStyle(document.querySelector(".nlink"));
    const read = (name) => style.getPropertyValue(`--${name}`).trim(), list = (name) => read(name).split(",").map((part) => part.trim());
    current = { dark, font: style.fontFamily, curves: list("curves"), dashes: list("dashes").map(dashesOf), ...Object.fromEntries(NAMES.map((name) => [name, read(name)])) };
  }
  return current;
}

export function parsed(colour) {
  const hex = /^#([0-9a-f]{6})$/i.exec(colour);
  return hex ? [0, 2, 4].map((k) => parseInt(hex[1].slice(k, k + 2), 16)) : [128, 128, 128];
}

// Turn between light and dark; the first time away from what the system asks for. The browser remembers it.
export function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  remember(THEME, theme);
}

// Take up the theme that was chosen before.
export function recallTheme() {
  const theme = recalled(THEME);
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

// Call a function after each change of the theme: by toggleTheme, or by the system.
export function onTheme(changed) {
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  SYSTEM.addEventListener("change", changed);
}
