// Points without WebGL2: pixels worked out here and put on a 2-D canvas. The order of points is
// mixed, so that the first part is a sample of all; what a frame has no time for, the next draws.

import { RIM_MOST, rimOf } from "./map_view.js";

const BUDGET = 10; // milliseconds a frame
const AT_ONCE = 100_000; // pixels between two looks at the clock
const PHASES = 4; // places within a pixel that a disc is worked out for, in each direction

export class FlatPoints {
  isLost = false;

  constructor(canvas, cloud) {
    this.canvas = canvas;
    this.cloud = cloud;
    this.context = canvas.getContext("2d");
    if (!this.context) throw new Error("no canvas");
    this.next = 0;
  }

  /** Draw a frame from the start, or go on with it; gives whether something is left to draw. */
  draw(frame, goOn) {
    const { width, height } = this.canvas;
    const all = this.cloud.n + frame.chosen.length;
    if (!goOn || !this.image || this.image.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.next = 0;
    }
    const end = performance.now() + BUDGET;
    while (this.next < all) {
      this.#some(frame);
      if (performance.now() > end) break;
    }
    this.context.putImageData(this.image, 0, 0);
    return this.next < all;
  }

  #some(frame) {
    const { n } = this.cloud;
    const isChosen = this.next >= n;
    const radius = frame.ratio * (isChosen ? Math.max(frame.radius * 1.15, 1.4) : frame.radius);
    const alpha = isChosen ? Math.max(frame.alpha, 0.9) : frame.alpha * frame.dimmed;
    const stamps = this.#stamps(radius);
    const several = Math.ceil(AT_ONCE / stamps.side ** 2);
    const stop = Math.min(this.next + several, isChosen ? n + frame.chosen.length : n);
    for (let i = this.next; i < stop; i++) {
      this.#point(frame, isChosen ? frame.chosen[i - n] : i, alpha, stamps);
    }
    this.next = stop;
  }

  #point(frame, s, alpha, stamps) {
    const { from, to, colourFrom, colourTo } = this.cloud;
    const { width, height } = this.canvas;
    const { view, ratio, moved, turned } = frame;
    const scale = view.scale * ratio;
    const x = from[2 * s] + moved * (to[2 * s] - from[2 * s]);
    const y = from[2 * s + 1] + moved * (to[2 * s + 1] - from[2 * s + 1]);
    const px = width / 2 + (x - view.x) * scale, py = height / 2 - (y - view.y) * scale;
    const { side } = stamps;
    if (!(px > -side && py > -side && px < width + side && py < height + side)) return;
    const left = Math.floor(px), top = Math.floor(py);
    const phase = Math.floor((px - left) * PHASES) + PHASES * Math.floor((py - top) * PHASES);
    const mix = (c) => colourFrom[4 * s + c] + turned * (colourTo[4 * s + c] - colourFrom[4 * s + c]);
    const opacity = (alpha * mix(3)) / 255;
    this.#stamp(left, top, stamps, phase, [mix(0), mix(1), mix(2)], opacity, frame.paper);
  }

  #stamp(left, top, { covers, edges, side }, phase, [red, green, blue], opacity, paper) {
    const { data, width, height } = this.image;
    const cover = covers[phase], edge = edges[phase];
    const half = side >> 1;
    for (let i = 0; i < side; i++) {
      const y = top - half + i;
      if (y < 0 || y >= height) continue;
      for (let j = 0; j < side; j++) {
        const x = left - half + j;
        const share = cover[i * side + j] * opacity;
        if (share === 0 || x < 0 || x >= width) continue;
        const at = 4 * (y * width + x), rim = edge[i * side + j];
        const r = red + rim * (paper[0] - red);
        const g = green + rim * (paper[1] - green);
        const b = blue + rim * (paper[2] - blue);
        const below = (data[at + 3] / 255) * (1 - share);
        const whole = share + below;
        data[at] = (r * share + data[at] * below) / whole;
        data[at + 1] = (g * share + data[at + 1] * below) / whole;
        data[at + 2] = (b * share + data[at + 2] * below) / whole;
        data[at + 3] = 255 * whole;
      }
    }
  }

  // How much of each pixel a disc covers, and its rim, for each place of its middle in a pixel.
  #stamps(radius) {
    if (this.stamps && this.stamps.radius === radius) return this.stamps;
    const side = 2 * Math.ceil(radius + 0.5) + 1, half = side >> 1;
    const rim = rimOf(radius);
    const covers = [], edges = [];
    for (let phase = 0; phase < PHASES * PHASES; phase++) {
      const x = half + ((phase % PHASES) + 0.5) / PHASES - 0.5;
      const y = half + (Math.floor(phase / PHASES) + 0.5) / PHASES - 0.5;
      const cover = new Float32Array(side * side), edge = new Float32Array(side * side);
      for (let k = 0; k < side * side; k++) {
        const away = Math.hypot((k % side) - x, Math.floor(k / side) - y) - radius;
        cover[k] = clipped(0.5 - away);
        edge[k] = clipped(away + rim + 0.5) * Math.min(rim, RIM_MOST);
      }
      covers.push(cover);
      edges.push(edge);
    }
    this.stamps = { radius, side, covers, edges };
    return this.stamps;
  }

  destroy() {
    this.image = null;
  }
}

function clipped(share) {
  return Math.min(Math.max(share, 0), 1);
}
