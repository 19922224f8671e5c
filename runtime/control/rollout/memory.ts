import type { MonoMs, WallMs } from "../../core/time.ts";
import type { VersionId } from "../../domain/names.ts";
import type { LoadTime } from "../../domain/rollout.ts";

/** What rollout remembers of an endpoint beside its own fact, which outlives the process. */
export interface RolloutMemory {
  /** First decision of this process; null before it. */
  readonly start: Start | null;
  /** Since when each version is sized for its present weight. */
  readonly sized: readonly Sized[];
  /** Versions that have served: those are kept for rollback. */
  readonly good: readonly VersionId[];
  /** Generation of the spec under which a version failed; it is tried again when the user changes the spec. */
  readonly failedUnder: readonly FailedUnder[];
  readonly loadTimes: readonly LoadTime[];
}

/** The first decision of a process, and when the fact that it found was written: the times in that one are of another clock. */
export interface Start {
  readonly atMs: MonoMs;
  /** Names that fact, and is compared with nothing else: the wall clock may have stepped. Null: there was none. */
  readonly foundWrittenAtMs: WallMs | null;
}

/** The weight a version is sized for, and since when. */
export interface Sized {
  readonly id: VersionId;
  readonly weight: number;
  readonly atMs: MonoMs;
}

/** A failed version and the deploy it failed under. */
export interface FailedUnder {
  readonly id: VersionId;
  readonly deployNumber: number;
}

/** What outlives the process. */
export type RolloutKept = Pick<RolloutMemory, "good" | "failedUnder" | "loadTimes">;

/** Memory at the start of a process. */
export function initRollout(kept: RolloutKept | null): RolloutMemory {
  return {
    start: null,
    sized: [],
    good: kept?.good ?? [],
    failedUnder: kept?.failedUnder ?? [],
    loadTimes: kept?.loadTimes ?? [],
  };
}

/** The part of memory that is kept. */
export function keepRollout({ good, failedUnder, loadTimes }: RolloutMemory): RolloutKept {
  return { good, failedUnder, loadTimes };
}
