import type { Plain } from "../core/controller.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { KeptStore } from "../ports/stores.ts";

/** Least time between two writes of kept projections: a crash loses at most this much of what was learned. */
const WRITE_GAP_MS = 10_000;

/** Writes kept projections in groups, at most each 10 s; a failed write is tried again with the next group. */
export class KeptWriter {
  readonly #store: KeptStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #unwritten = new Map<string, { readonly controller: string; readonly key: string; readonly kept: Plain }>();
  #lastWriteMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | null = null;

  constructor(store: KeptStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  put(controller: string, key: string, kept: Plain): void {
    this.#unwritten.set(`${controller} ${key}`, { controller, key, kept });
    this.#schedule();
  }

  remove(controller: string, key: string): void {
    this.#unwritten.delete(`${controller} ${key}`);
    this.#attempt(() => this.#store.remove(controller, key));
  }

  /** Writes what is left. */
  close(): void {
    this.#cancel?.();
    this.#write();
    this.#cancel?.();
  }

  #schedule(): void {
    if (this.#cancel !== null) return;
    const delayMs = Math.max(0, this.#lastWriteMs + WRITE_GAP_MS - this.#clock.monoMs());
    this.#cancel = this.#clock.after(delayMs, () => this.#write());
  }

  #write(): void {
    this.#cancel = null;
    this.#lastWriteMs = this.#clock.monoMs();
    for (const [id, { controller, key, kept }] of this.#unwritten)
      if (this.#attempt(() => this.#store.put(controller, key, kept))) this.#unwritten.delete(id);
    if (this.#unwritten.size > 0) this.#schedule();
  }

  #attempt(write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      this.#log.error("KEPT_NOT_WRITTEN", { why: String(error) });
      return false;
    }
  }
}
