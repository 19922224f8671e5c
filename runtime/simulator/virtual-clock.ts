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
  readonly #heap: Timer[] = [];
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
    this.#push(timer);
    return () => {
      timer.callback = null;
    };
  }

  /** Runs every timer due up to `endMs` and then stands there. */
  runUntil(endMs: number): void {
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= endMs; first = this.#heap[0]) {
      this.#pop();
      this.#nowMs = first.atMs;
      first.callback?.();
    }
    this.#nowMs = endMs;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
