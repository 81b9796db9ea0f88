// How many points a frame of a movement draws. Where a graphics card cannot keep up, or there is
// none, a sample follows the hand, and all points are there again when it rests.

const SLOW = 40; // milliseconds that a frame waits for its turn, and more: too much is drawn
const QUICK = 22;
const LEAST = 10_000; // points
const REST = 140; // milliseconds without a movement
const LONGEST = 1500; // the same where frames come so late that a hand seems to rest

export class Pace {
  #share = 1;
  #asked = 0;
  #moved = -Infinity;
  #timer = 0;
  #rest = REST;

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
    if (!isUnderWay && this.#asked - this.#moved >= this.#rest) return 1;
    const waited = performance.now() - this.#asked;
    this.#rest = Math.min(Math.max(3 * waited, REST), LONGEST);
    const least = Math.min(LEAST / Math.max(n, 1), 1);
    if (waited > SLOW) {
      const fewer = Math.max(Math.min(SLOW / waited, 0.7), 0.1);
      this.#share = Math.max(fewer * this.#share, least);
    } else if (waited < QUICK) {
      this.#share = Math.min(1.1 * this.#share, 1);
    }
    if (this.#share < 1) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.rested, this.#rest + 10);
    }
    return this.#share;
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
