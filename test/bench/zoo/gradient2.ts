const INITIAL = 20;
const LEAST = 20;
const MOST = 200;
const QUEUE = 4;
const SMOOTHING = 0.2;
const TOLERANCE = 1.5;
const LONG_WINDOW = 600;
const WARM_UP = 10;
const DRIFT_RATIO = 2;
const DRIFT_DECAY = 0.95;

/** The Gradient2 limit of Netflix's concurrency-limits, with its published formula and defaults. */
export class Gradient2 {
  #limit = INITIAL;
  #longMs = 0;
  #samples = 0;

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Takes one request's round trip and how many were in flight. */
  sample(shortMs: number, inFlight: number): void {
    this.#samples++;
    const alpha = this.#samples <= WARM_UP ? 1 / this.#samples : 2 / (LONG_WINDOW + 1);
    this.#longMs += (shortMs - this.#longMs) * alpha;
    // After a long time of overload the long average is too high: it drifts back.
    if (this.#longMs / shortMs > DRIFT_RATIO) this.#longMs *= DRIFT_DECAY;
    if (inFlight < this.#limit / 2) return;
    const gradient = Math.max(0.5, Math.min(1, (TOLERANCE * this.#longMs) / shortMs));
    const next = this.#limit * gradient + QUEUE;
    this.#limit = Math.max(LEAST, Math.min(MOST, this.#limit * (1 - SMOOTHING) + next * SMOOTHING));
  }
}
