/**
 * The largest value of the last `spanMs`, as a plain monotonic queue: values fall from front to back, so the front is
 * the maximum. Pushing costs amortised O(1) comparisons.
 */
export interface SlidingMax {
  readonly spanMs: number;
  readonly entries: readonly { readonly atMs: number; readonly value: number }[];
}

/** A window with nothing in it. */
export function emptySlidingMax(spanMs: number): SlidingMax {
  return { spanMs, entries: [] };
}

/** Adds a value seen at `atMs` and forgets what is older than the span. Requires: times don't go back. */
export function pushMax(window: SlidingMax, atMs: number, value: number): SlidingMax {
  const kept = window.entries.filter((entry) => entry.atMs > atMs - window.spanMs);
  while (kept.length > 0 && kept[kept.length - 1]!.value <= value) kept.pop();
  kept.push({ atMs, value });
  return { spanMs: window.spanMs, entries: kept };
}

/** The largest value pushed within the span before the last push, or null where there is none. */
export function maxOf(window: SlidingMax): number | null {
  return window.entries[0]?.value ?? null;
}
