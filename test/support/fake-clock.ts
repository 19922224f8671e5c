import { asMonoMs, asWallMs } from "../../runtime/core/time.ts";
import { DueQueue } from "../../runtime/driver/due-queue.ts";
import type { Clock } from "../../runtime/ports/clock.ts";

interface Timer {
  readonly order: number;
  readonly callback: () => void;
}

/** 2026-01-01 UTC: wall time of the start, so that tests show plausible dates. */
const WALL_START_MS = 1_767_225_600_000;

/** A clock that moves only when told to; timers run in the order of their time, then of their making. */
export class FakeClock implements Clock {
  readonly #timers = new DueQueue<Timer>((timer) => timer.order);
  #nowMs = 0;
  #made = 0;

  monoMs() {
    return asMonoMs(this.#nowMs);
  }

  wallMs() {
    return asWallMs(WALL_START_MS + this.#nowMs);
  }

  now() {
    return { mono: this.monoMs(), wall: this.wallMs() };
  }

  after(delayMs: number, callback: () => void): () => void {
    this.#made += 1;
    const timer = { order: this.#made, callback };
    this.#timers.set(timer, this.#nowMs + Math.max(0, delayMs));
    return () => this.#timers.remove(timer);
  }

  /** Runs all that is due within the next `spanMs`, each at its own time, then stands at the end of the span. */
  runFor(spanMs: number): void {
    const endMs = this.#nowMs + spanMs;
    for (let dueMs = this.#timers.nextDueMs(); dueMs !== null && dueMs <= endMs; dueMs = this.#timers.nextDueMs()) {
      this.#nowMs = Math.max(this.#nowMs, dueMs);
      this.#timers.takeDue(dueMs)?.callback();
    }
    this.#nowMs = endMs;
  }
}
