// How many points a frame of a movement draws. Where a graphics card cannot keep up, or there is
// none, a sample follows the hand, and all points are there again when it rests.

const SLOW = 40; // milliseconds that a frame waits for its turn, and more: too much is drawn
const QUICK = 22;
const LEAST = 10_000; // points
const REST = 140; // milliseconds without a movement

export class Pace {
  #share = 1;
  #asked = 0;
  #moved = -Infinity;
  #timer = 0;

  /** `rested` is called when all points are to be drawn after some were. */
  constructor(rested) {
    this.rested = rested;
  }

  /** A frame was requested. */
  ask() {
    this.#asked = performance.now();
  }

  /** The view has moved. */
  move() {
    this.#moved = performance.now();
  }

  /** The share of n points that this frame draws. */
  share(n, isUnderWay) {
    const now = performance.now();
    if (!isUnderWay && now - this.#moved >= REST) return 1;
    const waited = now - this.#asked;
    const least = Math.min(LEAST / Math.max(n, 1), 1);
    if (waited > SLOW) {
      const fewer = Math.max(Math.min(SLOW / waited, 0.7), 0.1);
      this.#share = Math.max(fewer * this.#share, least);
    } else if (waited < QUICK) {
      this.#share = Math.min(1.1 * this.#share, 1);
    }
    if (this.#share < 1) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.rested, REST + 10);
    }
    return this.#share;
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
