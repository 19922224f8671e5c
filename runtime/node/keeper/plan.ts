import { FIRST_ORDINAL, type ReplicaId, replicaIdOf, type VersionId } from "../../domain/names.ts";

/** Pure rules of getting ready: when a replica is warm, and where its knee is. */

/** Fewest warm-up runs: one to build what is built lazily, two to see that it is done. */
const MIN_WARMUP_RUNS = 3;
/** Most warm-up runs: compilers that tune themselves settle within a few dozen. */
const MAX_WARMUP_RUNS = 24;
/** Getting faster by less than this share is noise. */
const WARMUP_GAIN = 0.1;

/** Whether the last two runs were no faster than the best before them, so that more would gain nothing. */
export function isWarm(durationsMs: readonly number[]): boolean {
  if (durationsMs.length < MIN_WARMUP_RUNS) return false;
  if (durationsMs.length >= MAX_WARMUP_RUNS) return true;
  const bestBefore = Math.min(...durationsMs.slice(0, -2));
  return Math.min(...durationsMs.slice(-2)) >= bestBefore * (1 - WARMUP_GAIN);
}

/** The unloaded service time that the warm-up shows, in ms: the median of its last three runs. */
export function computeServiceMs(durationsMs: readonly number[]): number {
  const last = durationsMs.slice(-3).toSorted((a, b) => a - b);
  return last[Math.floor(last.length / 2)]!;
}

/**
 * Whether a replica is the first of its version, whose knee becomes the version's first target: only this one probes,
 * since a replica that starts later is waited for by traffic, and the target has been learned by then.
 */
export function isFirstOfVersion(id: ReplicaId, version: VersionId): boolean {
  return id === replicaIdOf(version, FIRST_ORDINAL);
}

/** One step of the onboarding probe: `concurrency` senders in a closed loop. */
export interface ProbeStep {
  readonly concurrency: number;
  readonly ratePerSecond: number;
}

/** Two steps in a row that raise the rate by less than this share over the best before end the probe: one may be chance. */
const PROBE_GAIN = 0.05;
/** The knee is the least concurrency that gives this share of the best rate: past it waiting grows faster than work. */
const KNEE_SHARE = 0.9;

/** The concurrency to try next, or null when the probe has seen enough: 1, 2, 4, ... up to `limit`. */
export function nextProbeConcurrency(steps: readonly ProbeStep[], limit: number): number | null {
  const last = steps.at(-1);
  if (last === undefined) return 1;
  const rates = steps.map((step) => step.ratePerSecond);
  const bestBefore = Math.max(0, ...rates.slice(0, -2));
  const gains = Math.max(...rates.slice(-2)) > bestBefore * (1 + PROBE_GAIN);
  return last.concurrency < limit && gains ? Math.min(limit, last.concurrency * 2) : null;
}

/**
 * The knee of the steps: requests in flight that one replica should carry. Null where it has not been seen: without two
 * steps to compare, and where the probe was broken off while the rate still rose.
 */
export function computeKnee(steps: readonly ProbeStep[], limit: number): number | null {
  const [last, ...before] = steps.toReversed();
  if (last === undefined || before.length === 0) return null;
  const bestBefore = Math.max(...before.map((step) => step.ratePerSecond));
  if (last.concurrency < limit && last.ratePerSecond > bestBefore * (1 + PROBE_GAIN)) return null;
  const best = Math.max(bestBefore, last.ratePerSecond);
  return steps.find((step) => step.ratePerSecond >= best * KNEE_SHARE)?.concurrency ?? null;
}
