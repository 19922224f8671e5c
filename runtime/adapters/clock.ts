import type { MonoMs, WallMs } from "../core/time.ts";
import type { Clock } from "../ports/clock.ts";

/** The machine's clock and timers. Its monotonic zero is the start of the process. */
export const systemClock: Clock = {
  monoMs: () => performance.now() as MonoMs,
  wallMs: () => Date.now() as WallMs,
  now: () => ({ mono: performance.now() as MonoMs, wall: Date.now() as WallMs }),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
