import { LATENCY_EDGES_MS } from "../../domain/load.ts";

/**
 * The q-quantile in milliseconds of counts per bucket of LATENCY_EDGES_MS, or null where nothing was counted. Inside
 * a bucket the value is interpolated on the logarithmic scale; above the last edge it is that edge.
 */
export function quantileMs(buckets: readonly number[], q: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return null;
  const rank = q * total;
  let below = 0;
  for (const [index, count] of buckets.entries()) {
    if (count > 0 && below + count >= rank) {
      const upper = LATENCY_EDGES_MS[index];
      if (upper === undefined) break;
      // Edges are powers of 2^(1/2): the lower edge is the upper one divided by that.
      return upper * 2 ** (-(1 - (rank - below) / count) / 2);
    }
    below += count;
  }
  return LATENCY_EDGES_MS.at(-1) ?? null;
}

/** Adds `later - earlier` of each bucket into `into`. Requires: equal lengths; `later` never below `earlier`. */
export function addBucketDifference(into: number[], later: readonly number[], earlier: readonly number[]): void {
  for (const [index, count] of later.entries()) {
    into[index] = (into[index] ?? 0) + count - (earlier[index] ?? 0);
  }
}
