// Points without WebGL2: pixels worked out here and put on a 2-D canvas. The order of points is
// mixed, so that the first part is a sample of all; what a frame has no time for, the next draws.

const BUDGET = 10; // milliseconds a frame
const AT_ONCE = 4096; // points between two looks at the clock
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
    const stop = Math.min(this.next + AT_ONCE, isChosen ? n + frame.chosen.length : n);
    const radius = frame.ratio * (isChosen ? Math.max(frame.radius * 1.15, 1.4) : frame.radius);
    const alpha = isChosen ? Math.max(frame.alpha, 0.9) : frame.alpha * frame.dimmed;
    const stamps = this.#stamps(radius);
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
    this.#stamp(left, top, stamps.covers[phase], side, mix(0), mix(1), mix(2), opacity);
  }

  #stamp(left, top, cover, side, r, g, b, opacity) {
    const { data, width, height } = this.image;
    const half = side >> 1;
    for (let i = 0; i < side; i++) {
      const y = top - half + i;
      if (y < 0 || y >= height) continue;
      for (let j = 0; j < side; j++) {
        const x = left - half + j;
        const share = cover[i * side + j] * opacity;
        if (share === 0 || x < 0 || x >= width) continue;
        const at = 4 * (y * width + x);
        const below = (data[at + 3] / 255) * (1 - share);
        const whole = share + below;
        data[at] = (r * share + data[at] * below) / whole;
        data[at + 1] = (g * share + data[at + 1] * below) / whole;
        data[at + 2] = (b * share + data[at + 2] * below) / whole;
        data[at + 3] = 255 * whole;
      }
    }
  }

  // How much of each pixel a disc covers, for each place of its middle within a pixel.
  #stamps(radius) {
    if (this.stamps && this.stamps.radius === radius) return this.stamps;
    const side = 2 * Math.ceil(radius + 0.5) + 1;
    const covers = [];
    for (let phase = 0; phase < PHASES * PHASES; phase++) {
      const x = ((phase % PHASES) + 0.5) / PHASES, y = (Math.floor(phase / PHASES) + 0.5) / PHASES;
      const cover = new Float32Array(side * side);
      for (let k = 0; k < side * side; k++) {
        const dx = (k % side) - (side >> 1) + 0.5 - x, dy = Math.floor(k / side) - (side >> 1) + 0.5 - y;
        cover[k] = Math.min(Math.max(radius - Math.hypot(dx, dy) + 0.5, 0), 1);
      }
      covers.push(cover);
    }
    this.stamps = { radius, side, covers };
    return this.stamps;
  }

  destroy() {
    this.image = null;
  }
}
