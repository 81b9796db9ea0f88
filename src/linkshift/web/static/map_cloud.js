// The points of the map as they are drawn: in a mixed order, so that no cluster lies on top of all
// others, with where each comes from and where it goes to, and the same for its colour.

const GREY = [154, 154, 154];
/** Where rows without a finite position are: outside of every view. */
const AWAY = 1e6;

export class Cloud {
  n = 0;
  /** Counted up when arrays change, for those who keep a copy. */
  placed = 0;
  painted = 0;
  labels = null;
  box = null;

  /** Take positions x0, y0, x1, y1, ...; `share` is how far points are on a way that ends here. */
  setPositions(xy, share) {
    const n = xy.length >> 1;
    const isNew = n !== this.n;
    if (isNew) this.#begin(n);
    const from = isNew ? this.to : blend(this.from, this.to, share);
    const to = new Float32Array(2 * n);
    this.rows = normalised(xy.subarray(0, 2 * n));
    this.box = boxOf(this.rows);
    for (let s = 0; s < n; s++) {
      const x = this.rows[2 * this.order[s]], y = this.rows[2 * this.order[s] + 1];
      const isThere = Number.isFinite(x) && Number.isFinite(y);
      to[2 * s] = isThere ? x : AWAY;
      to[2 * s + 1] = isThere ? y : AWAY;
    }
    this.from = isNew ? to : from;
    this.to = to;
    this.placed++;
    if (isNew) this.#paint(1);
    return !isNew;
  }

  #begin(n) {
    this.n = n;
    this.order = mixed(n);
    this.slot = new Uint32Array(n);
    for (let s = 0; s < n; s++) this.slot[this.order[s]] = s;
    this.colourFrom = this.colourTo = new Uint8Array(4 * n);
  }

  /** Take clusters and their colours; `share` is how far colours are on their way. */
  setLabels(labels, colourOf, share) {
    const isFirst = this.labels === null;
    this.labels = labels;
    this.colourOf = colourOf;
    if (this.n) this.#paint(isFirst ? 1 : share, isFirst);
    return !isFirst && this.n > 0;
  }

  #paint(share, isFirst = true) {
    const { n, order, labels, colourOf } = this;
    const to = new Uint8Array(4 * n);
    const known = new Map();
    for (let s = 0; s < n; s++) {
      const k = labels && order[s] < labels.length ? labels[order[s]] : -1;
      let colour = known.get(k);
      if (colour === undefined) known.set(k, (colour = labels ? colourOf(k) : GREY));
      to[4 * s] = colour[0];
      to[4 * s + 1] = colour[1];
      to[4 * s + 2] = colour[2];
      to[4 * s + 3] = k < 0 ? 150 : 255; // rows of no cluster stand back
    }
    this.colourFrom = isFirst ? to : blend(this.colourFrom, this.colourTo, share);
    this.colourTo = to;
    this.painted++;
  }

  /** Where a row is on the plane, on its way; null where it has no place. */
  place(row, share) {
    if (!(row >= 0 && row < this.n)) return null;
    const s = 2 * this.slot[row];
    const x = this.from[s] + share * (this.to[s] - this.from[s]);
    const y = this.from[s + 1] + share * (this.to[s + 1] - this.from[s + 1]);
    return this.to[s] < AWAY ? [x, y] : null;
  }

  /** Rows of cluster k, or all where k is null, from left to right. */
  fromLeft(k) {
    const { rows: xy, labels, n } = this;
    const rows = [];
    for (let row = 0; row < n; row++) {
      if ((k === null || labels[row] === k) && Number.isFinite(xy[2 * row])) rows.push(row);
    }
    return rows.sort((a, b) => xy[2 * a] - xy[2 * b] || a - b);
  }
}

/** Positions in the box from -1 to 1, of one scale in both directions, as close as it goes. */
function normalised(xy) {
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (let i = 0; i < xy.length; i += 2) {
    if (!Number.isFinite(xy[i]) || !Number.isFinite(xy[i + 1])) continue;
    for (const axis of [0, 1]) {
      low[axis] = Math.min(low[axis], xy[i + axis]);
      high[axis] = Math.max(high[axis], xy[i + axis]);
    }
  }
  const half = Math.max(high[0] - low[0], high[1] - low[1]) / 2 || 1;
  const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
  const rows = new Float32Array(xy.length);
  for (let i = 0; i < xy.length; i++) rows[i] = (xy[i] - middle[i & 1]) / half;
  return rows;
}

/** The box of positions that are finite, null without any. */
function boxOf(xy) {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  for (let i = 0; i < xy.length; i += 2) {
    if (!Number.isFinite(xy[i]) || !Number.isFinite(xy[i + 1])) continue;
    box.left = Math.min(box.left, xy[i]);
    box.right = Math.max(box.right, xy[i]);
    box.bottom = Math.min(box.bottom, xy[i + 1]);
    box.top = Math.max(box.top, xy[i + 1]);
  }
  return box.left <= box.right ? box : null;
}

function blend(from, to, share) {
  if (share >= 1) return to;
  return from.map((value, i) => value + share * (to[i] - value));
}

// The same mixed order of n rows each time: whatever is drawn first is a sample of all.
function mixed(n) {
  const order = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  let state = 0x9e3779b9;
  for (let i = n - 1; i > 0; i--) {
    state ^= state << 13; // xorshift
    state ^= state >>> 17;
    state ^= state << 5;
    const j = (state >>> 0) % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
