// Pan, zoom and tap on a canvas by mouse, wheel, pen and fingers.
//
// actions: pan(dx, dy, moves): with Shift or two fingers it moves; zoom(factor, x, y), tap(x, y), hover(x, y) or hover(null), fit(), free(): whether one finger may pan.
// On a page inside another one the wheel scrolls until the canvas has the focus.

import { placeIn } from "./dom.js";

const SLOP = 5;

export function gestures(canvas, actions) {
  const held = new Map();
  let moved = 0;
  const place = (event) => placeIn(canvas, event);
  const middle = () => {
    const points = [...held.values()];
    const x = points.reduce((sum, p) => sum + p[0], 0) / points.length, y = points.reduce((sum, p) => sum + p[1], 0) / points.length;
    return [x, y, points.length > 1 ? Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]) : 0];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    held.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    moved = held.size > 1 ? SLOP + 1 : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) {
      actions.hover?.(...place(event));
      return;
    }
    const before = middle();
    held.set(event.pointerId, place(event));
    const after = middle();
    moved += Math.hypot(after[0] - before[0], after[1] - before[1]);
    if (moved <= SLOP) return;
    actions.pan?.(after[0] - before[0], after[1] - before[1], event.shiftKey || held.size > 1);
    if (before[2] > 0) actions.zoom?.(after[2] / before[2], after[0], after[1]);
  });
  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    if (event.type === "pointerup" && moved <= SLOP) actions.tap?.(...place(event));
    canvas.style.touchAction = actions.free?.() ? "none" : "pan-y";
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => actions.hover?.(null));
  canvas.addEventListener("dblclick", () => actions.fit?.());
  canvas.addEventListener("wheel", (event) => {
    if (window.parent !== window && document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    const size = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    actions.zoom?.(Math.exp(-Math.max(-120, Math.min(120, size)) * (event.ctrlKey ? 0.01 : 0.0025)), ...place(event));
  }, { passive: false });
  canvas.style.touchAction = actions.free?.() ? "none" : "pan-y";
}
