/**
 * A ring of equal time buckets that hold amounts spread over spans: the integral of a gauge, or a count.
 * Plain and immutable, so that it can be recorded and replayed; adding copies at most `bucketCount` numbers.
 */
export interface SpanSums {
  readonly bucketMs: number;
  readonly bucketCount: number;
  /** Ordinal of the first bucket: it covers [first * bucketMs, (first + 1) * bucketMs). */
  readonly first: number;
  readonly amounts: readonly number[];
  /** Where the earliest span began: before it nothing was observed, which is not the same as zero. Null = nothing yet. */
  readonly coveredFromMs: number | null;
}

/** An empty ring of `bucketCount` buckets. */
export function emptySpanSums(bucketMs: number, bucketCount: number): SpanSums {
  return { bucketMs, bucketCount, first: 0, amounts: [], coveredFromMs: null };
}

/**
 * Spreads `amount` evenly over [fromMs, toMs). What lies before the ring's oldest bucket is dropped; a span that arrives
 * late lands in the buckets it belongs to. Requires: fromMs < toMs. Sources that repeat must be told apart by the caller.
 */
export function addSpan(sums: SpanSums, fromMs: number, toMs: number, amount: number): SpanSums {
  const { bucketMs, bucketCount } = sums;
  const lastOfSpan = Math.ceil(toMs / bucketMs) - 1;
  const firstOfSpan = Math.floor(fromMs / bucketMs);
  const oldFirst = sums.amounts.length === 0 ? firstOfSpan : sums.first;
  const last = Math.max(lastOfSpan, oldFirst + sums.amounts.length - 1);
  const first = Math.max(Math.min(oldFirst, firstOfSpan), last - bucketCount + 1);
  const amounts = Array.from({ length: last - first + 1 }, (_, index) => sums.amounts[first + index - oldFirst] ?? 0);
  for (let bucket = Math.max(firstOfSpan, first); bucket <= lastOfSpan; bucket++) {
    const overlapMs = Math.min(toMs, (bucket + 1) * bucketMs) - Math.max(fromMs, bucket * bucketMs);
    amounts[bucket - first] = amounts[bucket - first]! + (amount * overlapMs) / (toMs - fromMs);
  }
  return { ...sums, first, amounts, coveredFromMs: Math.min(sums.coveredFromMs ?? fromMs, fromMs) };
}

/**
 * Amount per millisecond over the part of [endMs - spanMs, endMs) that was observed: a service seen for 3 s is not
 * dragged down by the 17 s before it. Null where nothing of it was observed. Requires: nothing was observed after `endMs`.
 */
export function meanPerMs(sums: SpanSums, endMs: number, spanMs: number): number | null {
  if (sums.coveredFromMs === null) return null;
  const oldestMs = Math.max(sums.first * sums.bucketMs, sums.coveredFromMs);
  const fromMs = Math.max(endMs - spanMs, oldestMs);
  if (endMs <= fromMs) return null;
  return sumBetween(sums, fromMs, endMs) / (endMs - fromMs);
}

function sumBetween(sums: SpanSums, fromMs: number, endMs: number): number {
  let sum = 0;
  for (let index = 0; index < sums.amounts.length; index++) {
    const startMs = (sums.first + index) * sums.bucketMs;
    const filledFromMs = Math.max(startMs, sums.coveredFromMs ?? startMs);
    const stopMs = startMs + sums.bucketMs;
    if (stopMs <= fromMs || startMs >= endMs) continue;
    // The bucket that holds `endMs` is filled only up to there, so all of it counts.
    const overlapMs = endMs < stopMs ? endMs - Math.max(fromMs, filledFromMs) : stopMs - Math.max(fromMs, filledFromMs);
    const filledMs = Math.min(stopMs, endMs) - filledFromMs;
    if (filledMs > 0) sum += (sums.amounts[index]! * overlapMs) / filledMs;
  }
  return sum;
}
