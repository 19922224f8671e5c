import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";

/** Keys that are worked on at once: an API server is asked by few at a time. */
const AT_ONCE = 8;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 30_000;

/**
 * Work by key: a key is worked on by one at a time, added again meanwhile it is worked on once more, and one whose work
 * failed is tried again after a jittered, growing wait. However often a key is added, it waits once.
 */
export class KeyedWork {
  readonly #run: (key: string) => Promise<void>;
  readonly #ports: { readonly clock: Clock; readonly random: Random; readonly log: Log };
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #retries = new Map<string, () => void>();
  #closed = false;

  constructor(
    run: (key: string) => Promise<void>,
    ports: { readonly clock: Clock; readonly random: Random; readonly log: Log },
  ) {
    this.#run = run;
    this.#ports = ports;
  }

  add(key: string): void {
    if (this.#closed) return;
    this.#retries.get(key)?.();
    this.#retries.delete(key);
    this.#waiting.add(key);
    this.#next();
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#retries.values()) cancel();
    this.#waiting.clear();
  }

  #next(): void {
    for (const key of this.#waiting) {
      if (this.#closed || this.#running.size >= AT_ONCE) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    try {
      await this.#run(key);
      this.#failures.delete(key);
    } catch (error) {
      this.#retryLater(key, error);
    }
    this.#running.delete(key);
    this.#next();
  }

  #retryLater(key: string, error: unknown): void {
    if (this.#closed) return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#ports.log.warn("KUBE_WORK_FAILED", {
      key,
      failures,
      why: error instanceof Error ? error.message : String(error),
    });
    const longestMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20));
    const cancel = this.#ports.clock.after(longestMs * (0.5 + this.#ports.random.uniform() / 2), () => this.add(key));
    this.#retries.set(key, cancel);
  }
}
