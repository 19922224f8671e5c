import type { Curve } from "./curve.ts";
import { EMPTY_CURVE } from "./curve.ts";
import type { ReplicaMeter } from "./world.ts";

/** What the vertical axis remembers of one version: its target concurrency and what it was learned from. */
export interface Learning {
  readonly target: number | null;
  /** Where the target came from. */
  readonly source: "default" | "probe" | "predecessor" | "kept" | "learned";
  /** Onboarding: the target doubles until the first threshold. */
  readonly doubling: boolean;
  /** The target before the last doubling, and when that was: a target that load never fills goes back to it. */
  readonly doubled: { readonly from: number; readonly atMs: number } | null;
  /** The most that a resource bears; raised past it only after `untilMs`. */
  readonly ceiling: { readonly target: number; readonly untilMs: number } | null;
  /** Cycles in which steps stay wide since the workload's shape moved. */
  readonly wideCycles: number;
  readonly curve: Curve;
  /** Samples since the target last changed. */
  readonly samples: readonly Sample[];
  readonly open: OpenSample | null;
  readonly meters: Readonly<Record<string, ReplicaMeter>>;
  readonly cycleAtMs: number | null;
  /** Why the target last came out as it did. */
  readonly reason: string;
  /** Unloaded service time, and the longest start of a replica. */
  readonly unloadedMs: number | null;
  readonly startupMs: number | null;
}

/** Load per replica over a few seconds with an unchanged number of ready replicas. */
export interface Sample {
  readonly atMs: number;
  readonly inFlight: number;
  readonly serviceMs: number;
  readonly completed: number;
  /** Resource readings of this span by name; only those that were readable. */
  readonly signals: Readonly<Record<string, number>>;
}

/** A sample still being filled. */
export interface OpenSample {
  readonly ready: number;
  /** Filled only from here on: for a service time after replicas came or went, what they held before is still in flight. */
  readonly settledAtMs: number;
  readonly fromMs: number;
  readonly inFlightMs: number;
  readonly serviceMs: number;
  readonly completed: number;
}

/** What of a Learning is kept over a restart of the controller. */
export interface KeptLearning {
  readonly target: number | null;
  readonly doubling: boolean;
  readonly curve: Curve;
  readonly unloadedMs: number | null;
  readonly startupMs: number | null;
}

/** Learning of a version never seen before, or taken up again. */
export function initLearning(kept: KeptLearning | null): Learning {
  return {
    target: kept?.target ?? null,
    source: kept === null || kept.target === null ? "default" : "kept",
    doubling: kept?.doubling ?? true,
    doubled: null,
    ceiling: null,
    wideCycles: 0,
    curve: kept?.curve ?? EMPTY_CURVE,
    samples: [],
    open: null,
    meters: {},
    cycleAtMs: null,
    reason: "learn: not-yet",
    unloadedMs: kept?.unloadedMs ?? null,
    startupMs: kept?.startupMs ?? null,
  };
}

/** The part of a Learning that is kept. */
export function keepLearning(learning: Learning): KeptLearning {
  const { target, doubling, curve, unloadedMs, startupMs } = learning;
  return { target, doubling, curve, unloadedMs, startupMs };
}
