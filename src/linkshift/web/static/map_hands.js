// Pointers, wheel and keys on the map's canvas, as calls of what the map can do.

const A_CLICK = 4; // pixels that a pointer may move and still click
const LASSO_STEP = 3; // pixels between two corners
const WHEEL = 0.0018; // of zoom, a pixel of the wheel
const PINCH = 0.012; // the same for two fingers on a touchpad, which come as a wheel with Ctrl
const LINE = 24; // pixels of a wheel that counts lines

export class Hands {
  #pointers = new Map();
  #drag = null; // {x, y, moved, corners, adds}: what the one pointer that is down does
  #pinch = null;
  #stop = new AbortController();

  constructor(canvas, map) {
    this.canvas = canvas;
    this.map = map;
    const on = (name, hear, options) => {
      canvas.addEventListener(name, hear.bind(this), { signal: this.#stop.signal, ...options });
    };
    on("pointerdown", this.#down);
    on("pointermove", this.#move);
    on("pointerup", this.#up);
    on("pointercancel", this.#cancel);
    on("pointerleave", () => this.map.hoverAt(null));
    on("wheel", this.#wheel, { passive: false });
    on("dblclick", this.#double);
    on("keydown", this.#key);
    on("blur", () => this.map.leave());
  }

  destroy() {
    this.#stop.abort();
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #down(event) {
    if (event.button > 1 || (event.pointerType === "mouse" && this.#drag)) return;
    const [x, y] = this.#place(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, [x, y]);
    if (event.button === 1) event.preventDefault(); // the middle button pans, and does not scroll
    if (this.#pointers.size === 2) {
      this.#drop();
      this.#pinch = this.#spread();
    } else if (this.#pointers.size === 1) {
      const isLasso = event.button === 0 && this.map.tool === "lasso";
      this.#drag = { x, y, moved: false, corners: isLasso ? [[x, y]] : null, adds: event.shiftKey };
    }
  }

  #move(event) {
    const [x, y] = this.#place(event);
    if (this.#pointers.has(event.pointerId)) this.#pointers.set(event.pointerId, [x, y]);
    if (this.#pinch) this.#pinched();
    else if (this.#drag) this.#dragged(x, y);
    else if (!this.#pointers.size && event.pointerType !== "touch") this.map.hoverAt([x, y]);
  }

  #dragged(x, y) {
    const drag = this.#drag;
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) <= A_CLICK) return;
    if (!drag.moved) this.map.hoverAt(null);
    drag.moved = true;
    if (!drag.corners) {
      this.map.pan(x - drag.x, y - drag.y);
      [drag.x, drag.y] = [x, y];
      return;
    }
    const [lastX, lastY] = drag.corners[drag.corners.length - 1];
    if (Math.hypot(x - lastX, y - lastY) < LASSO_STEP) return;
    drag.corners.push([x, y]);
    this.map.showLasso(drag.corners);
  }

  #spread() {
    const [[ax, ay], [bx, by]] = [...this.#pointers.values()];
    return { x: (ax + bx) / 2, y: (ay + by) / 2, apart: Math.max(Math.hypot(ax - bx, ay - by), 1) };
  }

  #pinched() {
    const before = this.#pinch, now = this.#spread();
    this.map.pan(now.x - before.x, now.y - before.y);
    this.map.zoom([now.x, now.y], now.apart / before.apart);
    this.#pinch = now;
  }

  #up(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    const drag = this.#drag;
    if (this.#pinch) {
      if (this.#pointers.size < 2) this.#pinch = null; // the finger that stays does nothing more
    } else if (drag) {
      this.#drop();
      if (!drag.moved) this.map.pickAt([drag.x, drag.y]);
      else if (drag.corners) this.map.lassoed(drag.corners, drag.adds || event.shiftKey);
    }
  }

  #cancel(event) {
    this.#pointers.delete(event.pointerId);
    this.#pinch = null;
    this.#drop();
  }

  #drop() {
    if (this.#drag && this.#drag.corners) this.map.showLasso(null);
    this.#drag = null;
  }

  #wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * [1, LINE, this.canvas.clientHeight][event.deltaMode];
    const limited = Math.max(-300, Math.min(300, pixels));
    this.map.zoom(this.#place(event), Math.exp(-limited * (event.ctrlKey ? PINCH : WHEEL)));
  }

  #double(event) {
    this.map.zoom(this.#place(event), event.shiftKey ? 0.4 : 2.5, true);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { map } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const stride = 0.12 * Math.min(width, height);
    const middle = [width / 2, height / 2];
    const does = {
      ArrowLeft: () => (event.shiftKey ? map.step(-1) : map.pan(stride, 0)),
      ArrowRight: () => (event.shiftKey ? map.step(1) : map.pan(-stride, 0)),
      ArrowUp: () => map.pan(0, stride),
      ArrowDown: () => map.pan(0, -stride),
      "+": () => map.zoom(middle, 1.5, true),
      "=": () => map.zoom(middle, 1.5, true),
      "-": () => map.zoom(middle, 1 / 1.5, true),
      0: () => map.fit(),
      Home: () => map.fit(),
      Enter: () => map.pickCursor(),
      Escape: this.#drag && this.#drag.corners ? () => this.#drop() : undefined,
    }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation(); // keys of the page mean something else
    does();
  }
}
