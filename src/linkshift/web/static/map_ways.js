// What is under way on the map: points that glide, colours that turn, a view that flies.

import { eased } from "./map_view.js";

export class Ways {
  #under = new Map();
  #still = matchMedia("(prefers-reduced-motion: reduce)");

  /** Set out; gives whether there is anything to see on the way. */
  start(name, milliseconds, what = {}) {
    this.#under.delete(name);
    if (milliseconds === 0 || this.#still.matches) return false;
    this.#under.set(name, { ...what, start: performance.now(), milliseconds });
    return true;
  }

  stop(name) {
    this.#under.delete(name);
  }

  get(name) {
    return this.#under.get(name);
  }

  get isBusy() {
    return this.#under.size > 0;
  }

  /** How far, from 0 to 1; 1 for what is not under way. */
  share(name, now = performance.now()) {
    const way = this.#under.get(name);
    return way ? eased(Math.min(Math.max((now - way.start) / way.milliseconds, 0), 1)) : 1;
  }

  /** Forget what has arrived. */
  settle(now) {
    for (const name of [...this.#under.keys()]) {
      if (this.share(name, now) >= 1) this.#under.delete(name);
    }
  }
}
