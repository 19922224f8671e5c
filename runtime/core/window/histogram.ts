/**
 * The q-quantile of a histogram: `counts[i]` values lie at or below `edges[i]` and above the edge before it, the last
 * count lies above every edge. Linear inside a bucket, so the error is at most one bucket's width; values above the last
 * edge read as that edge. Null for an empty histogram. Requires: 0 <= q <= 1, counts one longer than edges.
 */
export function histogramQuantile(edges: readonly number[], counts: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return null;
  const rank = q * total;
  let below = 0;
  for (let index = 0; index < edges.length; index++) {
    const count = counts[index] ?? 0;
    if (count > 0 && below + count >= rank) {
      const lower = index === 0 ? 0 : edges[index - 1]!;
      return lower + (edges[index]! - lower) * ((rank - below) / count);
    }
    below += count;
  }
  return edges[edges.length - 1] ?? null;
}

/** The index of the bucket that `value` falls into; `edges.length` for values above every edge. */
export function bucketOf(edges: readonly number[], value: number): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (edges[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
