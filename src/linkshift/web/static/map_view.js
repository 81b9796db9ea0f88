// Where the map looks: its middle (x, y) on the plane of points, and pixels a unit. Views are values.

/** How far beyond the whole one can come near. Single precision holds to here. */
const NEAREST = 4000;
const PADDING = 28;

export const UNIT_BOX = { left: -1, right: 1, bottom: -1, top: 1 };

/** The view that shows a box whole, in so many pixels. */
export function fitted(box, width, height) {
  const wide = Math.max(box.right - box.left, 1e-3);
  const high = Math.max(box.top - box.bottom, 1e-3);
  const padding = Math.min(PADDING, width / 8, height / 8);
  const scale = Math.min((width - 2 * padding) / wide, (height - 2 * padding) / high);
  return { x: (box.left + box.right) / 2, y: (box.bottom + box.top) / 2, scale };
}

/** Pixels, from the upper left corner, of a point. */
export function toScreen(view, size, x, y) {
  return [
    size.width / 2 + (x - view.x) * view.scale,
    size.height / 2 - (y - view.y) * view.scale,
  ];
}

/** The point that is at a pixel. */
export function toPlane(view, size, px, py) {
  return [
    view.x + (px - size.width / 2) / view.scale,
    view.y - (py - size.height / 2) / view.scale,
  ];
}

/** The view after dragging by so many pixels. */
export function panned(view, dx, dy) {
  return { x: view.x - dx / view.scale, y: view.y + dy / view.scale, scale: view.scale };
}

/** The view nearer by a factor, with what is under a pixel staying under it. */
export function zoomed(view, size, px, py, factor, whole) {
  const scale = Math.min(Math.max(view.scale * factor, whole / 4), whole * NEAREST);
  const [x, y] = toPlane(view, size, px, py);
  return {
    x: x - (px - size.width / 2) / scale,
    y: y + (py - size.height / 2) / scale,
    scale,
  };
}

/** A view between two others; shares of zooming are even, as the eye sees them. */
export function between(from, to, share) {
  if (share >= 1) return to;
  const scale = from.scale * (to.scale / from.scale) ** share;
  // The middle moves with the scale, or a zoom would swing out to the side.
  const pull = Math.abs(to.scale - from.scale) < 1e-9 * to.scale
    ? share
    : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
  return { x: from.x + pull * (to.x - from.x), y: from.y + pull * (to.y - from.y), scale };
}

/** Slow at both ends. */
export function eased(share) {
  return share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2;
}

/** Radius in pixels and opacity of points: large where few are, growing as one comes near. */
export function looks(n, view, size, whole) {
  const room = Math.sqrt((size.width * size.height) / Math.max(n, 1));
  const near = Math.max(view.scale / whole, 1);
  const radius = Math.min(Math.max(0.42 * room, 0.9), 4.5) * near ** 0.32;
  const crowded = Math.min(Math.max((radius / room - 0.1) / 0.6, 0), 1);
  const alpha = Math.min(0.92 - 0.34 * crowded + 0.2 * Math.log10(near), 0.95);
  return { radius: Math.min(radius, 9), alpha: Math.max(alpha, 0.3) };
}

/** How opaque the rim of a disc is at most. */
export const RIM_MOST = 0.75;

/** Pixels of rim, in the paper's colour, that keep discs of a radius in pixels apart. */
export function rimOf(radius) {
  return Math.min(Math.max((radius - 2.2) / 2, 0), 1);
}
