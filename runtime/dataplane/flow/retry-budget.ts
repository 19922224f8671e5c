const BUCKET_MS = 1_000;
/** Length of the window: long enough that 20 % of it is more than the minimum at 1.5 requests per second. */
const BUCKETS = 10;
/** Share of the window's arrivals that may be sent again (Envoy's and Finagle's default). */
const RATIO = 0.2;
/** Retries that are allowed in any window, however few requests came (Envoy's min_retry_concurrency). */
const MINIMUM = 3;

/**
 * Limits how many requests are sent again, so that a failing fleet is not loaded further by its own retries:
 * 20 % of the arrivals of the last 10 s, and 3 at least. One per version and thread.
 */
export class RetryBudget {
  readonly #arrivals = new Float64Array(BUCKETS);
  readonly #retries = new Float64Array(BUCKETS);
  #bucket = 0;

  arrived(nowMs: number): void {
    const index = this.#advance(nowMs);
    this.#arrivals[index] = this.#arrivals[index]! + 1;
  }

  allows(nowMs: number): boolean {
    this.#advance(nowMs);
    return sum(this.#retries) < Math.max(MINIMUM, RATIO * sum(this.#arrivals));
  }

  spend(nowMs: number): void {
    const index = this.#advance(nowMs);
    this.#retries[index] = this.#retries[index]! + 1;
  }

  #advance(nowMs: number): number {
    const bucket = Math.floor(nowMs / BUCKET_MS);
    if (bucket > this.#bucket) {
      for (let stale = Math.max(this.#bucket + 1, bucket - BUCKETS + 1); stale <= bucket; stale++) {
        this.#arrivals[stale % BUCKETS] = 0;
        this.#retries[stale % BUCKETS] = 0;
      }
      this.#bucket = bucket;
    }
    return this.#bucket % BUCKETS;
  }
}

function sum(cells: Float64Array): number {
  let total = 0;
  for (const cell of cells) total += cell;
  return total;
}
