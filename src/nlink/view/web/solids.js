// Bodies in space: cylinders and boxes with a stripe that shows how they turn about their axes.

import { blend, channels, css, hull, polygon } from "./painter.js";
import { turned } from "./spacemotion.js";

const LIGHT = [-0.42, 0.64, 0.64];
const BRIGHT = 150;
const FEW = 12;

// How many sides show a body of so many pixels; none where it is as thin as a line.
export function sidesFor(pixels) {
  return pixels > 9 ? 20 : pixels > 3 ? 12 : pixels > 2 ? 6 : 0;
}

// The corners and sides of a body: { at, normal, stripe } in its own axes. half: to its sides, along, to its front; round: a cylinder.
export function meshOf({ centre, axes, half, round }, sides) {
  const at = (point) => [0, 1, 2].map((k) => centre[k] + axes[0][k] * half[0] * point[0] + axes[1][k] * half[1] * point[1] + axes[2][k] * half[2] * point[2]);
  const way = ([a, b, c]) => [0, 1, 2].map((k) => axes[0][k] * a + axes[1][k] * b + axes[2][k] * c);
  const rim = round ? Array.from({ length: sides }, (_, k) => (2 * Math.PI * (k - 0.5)) / sides).map((a) => [Math.cos(a), Math.sin(a)]) : [[1, -1], [1, 1], [-1, 1], [-1, -1]];
  const count = rim.length, points = [...rim.map(([x, z]) => at([x, -1, z])), ...rim.map(([x, z]) => at([x, 1, z]))], faces = [];
  for (let k = 0; k < count; k++) {
    const next = (k + 1) % count, angle = (2 * Math.PI * k) / count;
    faces.push({ at: [k, next, count + next, count + k], normal: way([Math.cos(angle), 0, Math.sin(angle)]), stripe: round && (k === 0 || (sides > FEW && (k === sides - 1 || k === 1))) });
  }
  for (const side of [-1, 1]) faces.push({ at: rim.map((_, k) => (side < 0 ? 0 : count) + k), normal: way([0, side, 0]) });
  const mark = (corners, normal) => { faces.push({ at: corners.map((corner) => points.push(at(corner)) - 1), normal: way(normal), stripe: true, mark: true }); };
  if (!round) mark([[1, -1, -0.3], [1, -1, 0.3], [1, 1, 0.3], [1, 1, -0.3]], [1, 0, 0]);
  if (sides > FEW) for (const side of [-1, 1]) mark(round ? [[0.25, side, -0.2], [0.96, side, -0.28], [1, side, 0], [0.96, side, 0.28], [0.25, side, 0.2]] : [[0.1, side, -0.3], [1, side, -0.3], [1, side, 0.3], [0.1, side, 0.3]], [0, side, 0]);
  return { points, faces, corners: 2 * count, sides };
}

// The colour of the stripe on a body, by its own colour without the haze of the distance.
export function stripeOf(colour, own) {
  const [r, g, b] = channels(own), pale = 0.3 * r + 0.59 * g + 0.11 * b > BRIGHT;
  return blend(colour, pale ? [0, 0, 0] : [255, 255, 255], pale ? 0.6 : 0.78);
}

// Draw a body: its corners in space and on the canvas, its quaternion; `edge` is the colour around it.
export function drawSolid(context, mesh, { world, seen, quaternion }, camera, [colour, stripe], edge) {
  const eye = camera.middle.map((part, k) => part + camera.eye * camera.back[k]), dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const light = [0, 1, 2].map((k) => LIGHT[0] * camera.right[k] + LIGHT[1] * camera.up[k] + LIGHT[2] * camera.back[k]);
  const fine = mesh.sides <= FEW;
  Object.assign(context, { strokeStyle: edge, lineWidth: fine ? 1.4 : 2.8 });
  polygon(context, hull(seen.slice(0, mesh.corners)), css(blend(colour, [0, 0, 0], 0.2)));
  context.stroke();
  for (const face of mesh.faces) {
    const normal = turned(quaternion, face.normal), from = world[face.at[0]];
    if (dot(normal, eye.map((part, k) => part - from[k])) <= 0) continue;
    const lit = dot(normal, light), shade = css(blend(face.stripe ? stripe : colour, lit > 0 ? [255, 255, 255] : [0, 0, 0], lit > 0 ? 0.2 * lit : -0.45 * lit));
    Object.assign(context, { strokeStyle: shade, lineWidth: 0.7 });
    polygon(context, face.at.map((k) => seen[k]), shade);
    if (!fine) context.stroke();
  }
}
