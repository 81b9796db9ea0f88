// A grid over the points: the nearest to a place, and those inside a polygon, without all of them.

const ROWS_A_CELL = 4;
const MOST_CELLS = 1024; // along one side

/** Points (x0, y0, x1, y1, ...) by cells. Points that are not finite are in none. */
export class Grid {
  constructor(xy) {
    const n = xy.length / 2;
    this.xy = xy;
    let left = Infinity, right = -Infinity, bottom = Infinity, top = -Infinity;
    for (let i = 0; i < n; i++) {
      const x = xy[2 * i], y = xy[2 * i + 1];
      if (!isThere(x, y)) continue;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < bottom) bottom = y;
      if (y > top) top = y;
    }
    this.isEmpty = !(left <= right);
    if (this.isEmpty) [left, right, bottom, top] = [0, 0, 0, 0];
    this.left = left;
    this.bottom = bottom;
    this.side = Math.max(1, Math.min(MOST_CELLS, Math.floor(Math.sqrt(n / ROWS_A_CELL))));
    this.cell = Math.max(right - left, top - bottom, 1e-12) / this.side;
    this.#sort(n);
  }

  // Counting sort: rows of cell c are rows[first[c]] to rows[first[c + 1] - 1], in their order.
  #sort(n) {
    const { xy, side } = this;
    const where = new Int32Array(n);
    const first = new Int32Array(side * side + 1);
    for (let i = 0; i < n; i++) {
      const x = xy[2 * i], y = xy[2 * i + 1];
      where[i] = isThere(x, y) ? this.row(y) * side + this.column(x) : -1;
      if (where[i] >= 0) first[where[i] + 1]++;
    }
    for (let c = 0; c < side * side; c++) first[c + 1] += first[c];
    const next = first.slice(0, side * side);
    const rows = new Int32Array(first[side * side]);
    for (let i = 0; i < n; i++) if (where[i] >= 0) rows[next[where[i]]++] = i;
    this.first = first;
    this.rows = rows;
  }

  column(x) {
    return clamp(Math.floor((x - this.left) / this.cell), this.side);
  }

  row(y) {
    return clamp(Math.floor((y - this.bottom) / this.cell), this.side);
  }

  /** The row nearest to a place and not farther than `reach`, the first of equals; null if none. */
  nearest(x, y, reach) {
    if (this.isEmpty) return null;
    const { xy, side, first, rows, cell } = this;
    const c = this.column(x), r = this.row(y);
    let best = reach * reach, found = null;
    for (let ring = 0; ring < side; ring++) {
      // Cells of this ring are at least so far away (the place itself may be outside the grid).
      if (ring > 1 && ((ring - 1) * cell) ** 2 > best) break;
      for (let i = Math.max(r - ring, 0); i <= Math.min(r + ring, side - 1); i++) {
        const isEdge = Math.abs(i - r) === ring;
        for (let j = c - ring; j <= c + ring; j += isEdge || ring === 0 ? 1 : 2 * ring) {
          if (j < 0 || j >= side) continue;
          for (let k = first[i * side + j]; k < first[i * side + j + 1]; k++) {
            const row = rows[k];
            const away = (xy[2 * row] - x) ** 2 + (xy[2 * row + 1] - y) ** 2;
            if (away < best || (away === best && (found === null || row < found))) {
              best = away;
              found = row;
            }
          }
        }
      }
    }
    return found;
  }

  /** Rows inside a polygon [[x, y], ...], ascending. Loops that overlap count as inside. */
  inside(polygon) {
    if (this.isEmpty || polygon.length < 3) return [];
    const { xy, side, first, rows, cell } = this;
    const crossed = this.#crossed(polygon);
    const found = [];
    const [low, high] = span(polygon, 1);
    const [from, to] = span(polygon, 0);
    for (let r = this.row(low); r <= this.row(high); r++) {
      let isWhole = null; // whether cells here are inside; known until an edge comes
      for (let c = this.column(from); c <= this.column(to); c++) {
        const at = r * side + c;
        if (crossed[at]) {
          isWhole = null;
          for (let k = first[at]; k < first[at + 1]; k++) {
            if (isInside(polygon, xy[2 * rows[k]], xy[2 * rows[k] + 1])) found.push(rows[k]);
          }
          continue;
        }
        isWhole ??= isInside(polygon, this.left + (c + 0.5) * cell, this.bottom + (r + 0.5) * cell);
        if (isWhole) for (let k = first[at]; k < first[at + 1]; k++) found.push(rows[k]);
      }
    }
    return Int32Array.from(found).sort();
  }

  // Cells that an edge of the polygon runs through, and one more to each side for rounding.
  #crossed(polygon) {
    const { side, cell, bottom } = this;
    const crossed = new Uint8Array(side * side);
    for (let e = 0; e < polygon.length; e++) {
      let [x0, y0] = polygon[e], [x1, y1] = polygon[(e + 1) % polygon.length];
      if (y0 > y1) [x0, y0, x1, y1] = [x1, y1, x0, y0];
      const last = this.row(y1);
      for (let r = this.row(y0); r <= last; r++) {
        const low = Math.max(y0, bottom + (r - 0.01) * cell);
        const high = Math.min(y1, bottom + (r + 1.01) * cell);
        const at = (y) => (y1 > y0 ? x0 + ((x1 - x0) * (y - y0)) / (y1 - y0) : x0);
        const isFlat = !(high > low) || y1 - y0 < 1e-3 * cell;
        const ends = isFlat ? [x0, x1] : [at(low), at(high)];
        const a = clamp(this.column(Math.min(...ends)) - 1, side);
        const b = clamp(this.column(Math.max(...ends)) + 1, side);
        crossed.fill(1, r * side + a, r * side + b + 1);
      }
    }
    return crossed;
  }
}

/** Whether a place is inside a polygon: whether the polygon winds round it. */
export function isInside(polygon, x, y) {
  let winds = 0;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const ax = polygon[j][0], ay = polygon[j][1], bx = polygon[i][0], by = polygon[i][1];
    if (ay <= y !== by <= y) {
      const side = (bx - ax) * (y - ay) - (x - ax) * (by - ay);
      if (by > ay ? side > 0 : side < 0) winds += by > ay ? 1 : -1;
    }
  }
  return winds !== 0;
}

function isThere(x, y) {
  return Number.isFinite(x) && Number.isFinite(y);
}

function clamp(at, side) {
  return at > 0 ? Math.min(at, side - 1) : 0;
}

function span(polygon, axis) {
  let low = Infinity, high = -Infinity;
  for (const place of polygon) {
    low = Math.min(low, place[axis]);
    high = Math.max(high, place[axis]);
  }
  return [low, high];
}
