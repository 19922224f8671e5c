/**
 * Constants of the scaling laws, each with its reason or source.
 */

/** Decided at least this often; step caps are per this period. */
export const DECISION_MS = 5_000;
/** Scale-up reads the mean of this window. Source: Databricks' published window; between Knative's 6 s and Ray's 31 s. */
export const UP_WINDOW_MS = 20_000;
/** The fast lane reads the mean of this window. */
export const FAST_WINDOW_MS = 5_000;
/** The fast lane opens when the fast window is over this many times what is wanted (Knative's panic threshold). */
export const FAST_LANE_RATIO = 2;
/** Scale-down reads the maximum over this window (Kubernetes HPA's down-stabilisation). */
export const DOWN_WINDOW_MS = 300_000;
/** No change within this share of the target (Kubernetes HPA). */
export const TOLERANCE_RATIO = 0.1;
/** Largest growth per period, as a multiple of what was wanted: 1 -> 1,000 in four periods. */
export const UP_STEP_FACTOR = 8;
/** Largest shrink per period, as a share of what was wanted. */
export const DOWN_STEP_SHARE = 0.3;
/** What waits is to be worked off within this time beside new arrivals: waiting for a start is not concurrency. */
export const DRAIN_MS = 15_000;
/**
 * A queue stands when it moves by no more than this share of what chance alone would move it. A random walk, as an open
 * loop at its limit is, stays within it in 2 % of windows (20,000 drawn).
 */
export const TIED_RATIO = 0.25;
/** Service time before any was measured. */
export const SERVICE_UNKNOWN_MS = 1_000;
/** A router not heard for this long is silent: reports come each second, and two may be lost. */
export const ROUTER_SILENT_MS = 4_000;
/** A router silent for this long is gone, and its clients with it. */
export const ROUTER_GONE_MS = 60_000;
/** A keeper not heard for this long has lost its replica (the agent's own deadline on keepers). */
export const KEEPER_SILENT_MS = 15_000;
/** Startup budget before any start was measured: a large model's download and load. */
export const STARTUP_UNKNOWN_MS = 600_000;
/** Startup budget as a multiple of the longest measured start. */
export const STARTUP_SLACK = 3;
/** Least startup budget: a start may be slowed by others that start beside it. */
export const STARTUP_LEAST_MS = 30_000;
/** CPU use of the allotment that more replicas should bring down to; concurrency at the knee runs just under it. */
export const CPU_TARGET_RATIO = 0.9;
/** CPU alone asks for at most this many times what requests in flight ask for: what brings full CPUs down to their target. */
export const CPU_BOUND_FACTOR = 1 / CPU_TARGET_RATIO;

/** The vertical axis decides this often. */
export const CYCLE_MS = 30_000;
/** Requests in flight per replica before anything was learned; doubled until the first threshold. */
export const DEFAULT_TARGET = 4;
/** Concurrency is the limit when in flight per replica is over this share of the target. */
export const LIMITING_RATIO = 0.7;
/** A cycle raises the target by max(1, this share). */
export const RAISE_SHARE = 0.1;
/** A cycle lowers the target by at most this share. */
export const LOWER_SHARE = 0.3;
/** Share of a window's samples that must agree: one spike decides nothing. */
export const MOST = 0.6;
/** Readings past which a metric is over. A metric counts only where it rises with in flight. */
export const THRESHOLDS: Readonly<Record<string, number>> = {
  /** Share of time the cgroup held the processes back: the alert level of kubernetes-mixin's CPUThrottlingHigh. */
  throttled: 0.25,
  /** Resident memory over its limit: above it the kernel reclaims and then kills. */
  memory: 0.9,
  /** Blocks of the KV cache in use: above it the engine preempts. */
  kvUse: 0.9,
};
/** The workload's shape moved when most service times moved by this share at the same in flight: twice the tolerance. */
export const SHAPE_RATIO = 0.2;
/** Cycles in which steps are wide after the shape moved: three of 20 % reach 1.7 times. */
export const WIDE_CYCLES = 3;
/** A target with this share of the knee's power stays: in throughput and latency it is within 10 % of it. */
export const AS_GOOD_SHARE = 0.99;
/** So does a target within this share of the knee: a sharp knee is known no better. */
export const KNEE_SLACK = 0.1;
/** But only with this share of the knee's power: past the memory that there is, a few percent more are too many. */
export const NEAR_SHARE = 0.9;
/**
 * What lies between a client and a replica, a router and a network, takes at least this long. A client sees it in each
 * latency, so that what a fast model saves far below it buys nothing, and throughput is not given away for it.
 */
export const ON_THE_WAY_MS = 1;
/** A level that a resource did not bear is tried again after this long: one bad cycle in twenty at most. */
export const CEILING_MS = 20 * CYCLE_MS;
/** A doubled target that load has not filled for this long is given up. */
export const UNFILLED_MS = 3 * CYCLE_MS;
/** Share that a cycle of load remembers of what was seen before: half after an hour, as traffic changes by the hour. */
export const REMEMBERED_SHARE = 0.5 ** (CYCLE_MS / 3_600_000);
/** Samples a verdict needs: of fewer, one spike is most. */
export const LEAST_SAMPLES = 3;
/** Requests a verdict needs, a fifth over what a bucket of the curve needs to be believed: samples straddle two. */
export const LEAST_COMPLETED = 120;
