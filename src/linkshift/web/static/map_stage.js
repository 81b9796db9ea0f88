// The canvases of the map, and what draws points on them: WebGL2, or pixels worked out here where
// there is none, or where it was lost and did not come back.

import { FlatPoints } from "./map_flat.js";
import { GlPoints } from "./map_gl.js";

const PATIENCE = 4000; // milliseconds that a lost context may take to come back
const WITHOUT = "Drawn without WebGL2: slower with many rows.";

export class Stage {
  size = { width: 0, height: 0, ratio: 1 };
  isHidden = true;
  remark = null;
  #points;
  #sheet = null; // takes the points where the canvas belongs to a WebGL2 that is gone
  #waiting = 0;
  #stop = new AbortController();
  #watch;

  /** `onResize` is called when the size has changed, `onRedraw` when all is to be drawn anew. */
  constructor(canvas, cloud, { onResize, onRedraw, onRemark }) {
    this.canvas = canvas;
    this.cloud = cloud;
    this.on = { resize: onResize, redraw: onRedraw, remark: onRemark };
    this.marks = layer(canvas);
    this.ink = this.marks.getContext("2d");
    try {
      this.#points = new GlPoints(canvas, cloud);
    } catch (error) {
      console.warn(`linkshift: ${error.message}`);
      this.#without(canvas.getContext("2d") ? canvas : this.#addSheet());
    }
    const signal = this.#stop.signal;
    canvas.addEventListener("webglcontextlost", (event) => this.#lost(event), { signal });
    canvas.addEventListener("webglcontextrestored", () => this.#restored(), { signal });
    this.#watch = new ResizeObserver(() => this.#measure());
    this.#watch.observe(canvas);
  }

  /** Draw points; gives whether some are left for the next frame. */
  draw(frame, goOn) {
    return this.#points.draw(frame, goOn);
  }

  get isLost() {
    return this.#points.isLost;
  }

  /** Take the size that the page gives, before the observer tells of it. */
  measure() {
    this.#measure();
  }

  destroy() {
    clearTimeout(this.#waiting);
    this.#stop.abort();
    this.#watch.disconnect();
    this.#points.destroy();
    this.marks.remove();
    this.#sheet?.remove();
  }

  #measure() {
    const { canvas, size } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const wasHidden = this.isHidden;
    this.isHidden = !width || !height; // there is nothing to draw on, and the size stays for later
    if (this.isHidden) return;
    this.#place();
    if (width === size.width && height === size.height && ratio === size.ratio) {
      if (wasHidden) this.on.redraw();
      return;
    }
    this.size = { width, height, ratio };
    for (const one of this.#all()) {
      one.width = Math.round(width * ratio);
      one.height = Math.round(height * ratio);
    }
    if (canvas.clientWidth !== width || canvas.clientHeight !== height) {
      // The page gives no size, so that the canvas would grow by its pixels for ever.
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.on.resize(size, this.size);
  }

  // Layers lie on the canvas: where it is, as large as it is.
  #place() {
    const { canvas } = this;
    let before = canvas;
    for (const one of this.#all().slice(1)) {
      if (canvas.parentNode && one.previousSibling !== before) before.after(one);
      one.style.left = `${canvas.offsetLeft + canvas.clientLeft}px`;
      one.style.top = `${canvas.offsetTop + canvas.clientTop}px`;
      one.style.width = `${canvas.clientWidth}px`;
      one.style.height = `${canvas.clientHeight}px`;
      before = one;
    }
  }

  #all() {
    return [this.canvas, this.#sheet, this.marks].filter((one) => one);
  }

  #lost(event) {
    event.preventDefault(); // or it would never come back
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => {
      this.#without(this.#addSheet());
      this.on.redraw();
    }, PATIENCE);
  }

  #restored() {
    clearTimeout(this.#waiting);
    if (this.#sheet) {
      this.#sheet.remove();
      this.#sheet = null;
      this.#remark(null);
      this.#points = new GlPoints(this.canvas, this.cloud);
    } else {
      this.#points.restore();
    }
    this.on.redraw();
  }

  #without(canvas) {
    this.#points = new FlatPoints(canvas, this.cloud);
    this.#remark(WITHOUT);
  }

  #remark(text) {
    this.remark = text;
    this.on.remark(text);
  }

  #addSheet() {
    this.#sheet = layer(this.canvas);
    this.#sheet.width = this.canvas.width;
    this.#sheet.height = this.canvas.height;
    this.#place();
    return this.#sheet;
  }
}

function layer(canvas) {
  const made = canvas.ownerDocument.createElement("canvas");
  made.setAttribute("aria-hidden", "true");
  made.style.position = "absolute";
  made.style.pointerEvents = "none";
  return made;
}
