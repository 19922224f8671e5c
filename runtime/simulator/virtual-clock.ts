import { Heap } from "../core/heap.ts";
import { asMonoMs, asWallMs } from "../core/time.ts";
import type { Clock } from "../ports/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly order: number;
  callback: (() => void) | null;
}

/** 2026-01-01 UTC: the wall time at which simulated time starts. */
const WALL_START_MS = 1_767_225_600_000;

/** Simulated time: it jumps from timer to timer, in the order of their times and then of their making. */
export class VirtualClock implements Clock {
  readonly #timers = new Heap<Timer>(isBefore);
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
    const timer: Timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#made++, callback };
    this.#timers.push(timer);
    return () => {
      timer.callback = null;
    };
  }

  /** Runs every timer due up to `endMs` and then stands there. */
  runUntil(endMs: number): void {
    for (let first = this.#timers.first; first !== undefined && first.atMs <= endMs; first = this.#timers.first) {
      this.#timers.pop();
      this.#nowMs = first.atMs;
      first.callback?.();
    }
    this.#nowMs = endMs;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
