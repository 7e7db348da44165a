// Reads what page.py packs: one zlib stream in base64 that holds every array of the page.
//
// An array of numbers is stored as whole multiples of `step`: differenced `order` times along each row, signs folded into the
// last bit, the four bytes of each number in planes of their own (so that they compress). With step 0 it is plain float64, in
// eight planes.

import { inflate } from "./inflate.js";

export async function inflated(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = binary.charCodeAt(k);
  if (typeof DecompressionStream === "undefined") return inflate(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The values (rows * count) that a descriptor names, row by row.
export function array(bytes, { at, rows, count, step, order }) {
  const size = rows * count, out = new Float64Array(size);
  if (step === 0) {
    const whole = new Uint8Array(out.buffer);
    for (let plane = 0; plane < 8; plane++) for (let k = 0; k < size; k++) whole[8 * k + plane] = bytes[at + plane * size + k];
    return out;
  }
  for (let k = 0; k < size; k++) {
    const j = at + k;
    const folded = (bytes[j] | (bytes[j + size] << 8) | (bytes[j + 2 * size] << 16) | (bytes[j + 3 * size] << 24)) >>> 0;
    out[k] = folded & 1 ? -(folded - 1) / 2 - 1 : folded / 2;
  }
  for (let row = 0; row < rows; row++) {
    const part = out.subarray(row * count, (row + 1) * count);
    for (let pass = 0; pass < order; pass++) for (let k = 1; k < count; k++) part[k] += part[k - 1];
    for (let k = 0; k < count; k++) part[k] *= step;
  }
  return out;
}

// Replace every descriptor in a tree of plain data by its array.
export function filled(bytes, tree) {
  if (Array.isArray(tree)) return tree.map((part) => filled(bytes, part));
  if (tree === null || typeof tree !== "object") return tree;
  if ("at" in tree && "step" in tree) return array(bytes, tree);
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, filled(bytes, part)]));
}

export async function decoded(page) {
  return filled(await inflated(page.data), page.content);
}
