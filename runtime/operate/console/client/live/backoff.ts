const FIRST_MS = 500;
/** A person who waits before a screen should see the region within seconds of its return. */
const LONGEST_MS = 5_000;

/** How long to wait before the next try after `failures` failed ones in a row. */
export function backoffMs(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
}
