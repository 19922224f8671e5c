import type { MonoMs, Now, WallMs } from "../core/time.ts";

/** Time and timers; a simulated one advances only when told to. */
export interface Clock {
  monoMs(): MonoMs;
  wallMs(): WallMs;
  now(): Now;
  /** Calls back once after `delayMs`; the returned function cancels. Never keeps the process alive by itself. */
  after(delayMs: number, callback: () => void): () => void;
}
