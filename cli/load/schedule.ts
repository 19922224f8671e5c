import { exponential, splitUniform } from "../../runtime/core/prng.ts";
import type { Segment } from "./profile.ts";

/** How arrivals are spaced: at random as independent clients make them, or evenly. */
export type Arrivals = "poisson" | "constant";

/** Which part of the load a thread sends: thread `index` of `count`. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

/**
 * The times at which requests are due, in milliseconds from the start, ascending; fixed by the profile and the seed
 * before anything is sent, so that a slow server can't slow the clients down. Arrival n comes where the integral of
 * the rate reaches the n-th sum of gaps (mean 1): exponential gaps make a Poisson process, equal ones an even stream.
 */
export function* arrivalTimes(
  profile: readonly Segment[],
  arrivals: Arrivals,
  seed: number,
  share: Share = { index: 0, count: 1 },
): Generator<number> {
  const uniform = splitUniform(seed, `arrivals-${share.index}`);
  const gap = arrivals === "constant" ? () => 1 : () => exponential(uniform, 1);
  // Threads of an even stream take turns: thread k starts (k + 1)/count of a gap late.
  let due = arrivals === "constant" ? (share.index + 1) / share.count : gap();
  let startMs = 0;
  for (const { fromRps, toRps, durationMs } of profile) {
    const from = fromRps / 1_000 / share.count;
    const to = toRps / 1_000 / share.count;
    const expected = ((from + to) / 2) * durationMs;
    while (due <= expected) {
      yield startMs + timeOf(due, from, to, durationMs);
      due += gap();
    }
    due -= expected;
    startMs += durationMs;
  }
}

/** When the integral of a rate going from `from` to `to` over `durationMs` reaches `amount`: a root of a parabola. */
function timeOf(amount: number, from: number, to: number, durationMs: number): number {
  const slope = (to - from) / durationMs;
  if (slope === 0) return amount / from;
  // The stable form of the root: it does not cancel where the slope is small.
  return (2 * amount) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * amount)));
}
