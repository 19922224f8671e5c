import type { Uniform } from "../core/prng.ts";

/** Requests per second at a moment of simulated time. */
export type RateRps = (atMs: number) => number;

/** The same rate for ever. */
export function constantRate(rps: number): RateRps {
  return () => rps;
}

/** `beforeRps` until `atMs`, then `afterRps`. */
export function stepRate(beforeRps: number, afterRps: number, stepAtMs: number): RateRps {
  return (atMs) => (atMs < stepAtMs ? beforeRps : afterRps);
}

/** Straight from one rate to the other between two moments. */
export function rampRate(fromRps: number, toRps: number, startMs: number, endMs: number): RateRps {
  return (atMs) => {
    const share = Math.min(1, Math.max(0, (atMs - startMs) / (endMs - startMs)));
    return fromRps + (toRps - fromRps) * share;
  };
}

/** A base rate with a spike of `spikeMs` at the start of each period. */
export function spikeRate(baseRps: number, spikeRps: number, periodMs: number, spikeMs: number): RateRps {
  return (atMs) => (atMs % periodMs < spikeMs ? spikeRps : baseRps);
}

/** Days that rise and fall like half a sine, and nights without any request. */
export function nightsRate(peakRps: number, dayMs: number, nightMs: number): RateRps {
  return (atMs) => {
    const intoDayMs = atMs % (dayMs + nightMs);
    return intoDayMs < dayMs ? peakRps * Math.sin((Math.PI * intoDayMs) / dayMs) : 0;
  };
}

/**
 * The next arrival of a Poisson process whose rate changes, by thinning: `mostRps` is at least the rate at any moment.
 * Gives up at `endMs` and returns Infinity.
 */
export function nextArrivalMs(
  rate: RateRps,
  mostRps: number,
  afterMs: number,
  endMs: number,
  uniform: Uniform,
): number {
  let atMs = afterMs;
  while (atMs < endMs) {
    atMs += (-Math.log(1 - uniform()) * 1_000) / mostRps;
    if (uniform() * mostRps < rate(atMs)) return atMs;
  }
  return Number.POSITIVE_INFINITY;
}

/** A Poisson count with the given mean; by the normal approximation above 50, where it is within 1 %. */
export function poissonCount(mean: number, uniform: Uniform): number {
  if (mean <= 0) return 0;
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = uniform(); product > limit; product *= uniform()) count++;
  return count;
}
