import type { Knee } from "./curve.ts";
import {
  inFlightOf,
  isPastKnee,
  kneeOf,
  lowestPoint,
  pointAt,
  rescaleCurve,
  risesWithLoad,
  serviceMsOf,
} from "./curve.ts";
import { CYCLE_MS, DEFAULT_TARGET, LIMITING_RATIO, LOWER_SHARE, MOST, RAISE_SHARE } from "./laws.ts";
import type { Learning, Sample } from "./learning.ts";
import { LOOK_BACK_MS } from "./sampling.ts";
import type { World } from "./world.ts";

/** Readings past which a metric is over. A metric counts only where it rises with in flight. */
const THRESHOLDS: Readonly<Record<string, number>> = {
  /** Share of time the cgroup held the processes back. */
  throttled: 0.25,
  /** Resident memory over its limit: above it the kernel reclaims and then kills. */
  memory: 0.9,
  /** Reads and writes of device memory: what bounds decoding. */
  gpuMemoryBandwidth: 0.9,
  /** Blocks of the KV cache in use: above it the engine preempts. */
  kvUse: 0.9,
};
/** Service time over its low-load value above which requests wait more than they are served: 2 at the knee of a batch. */
const LATENCY_RATIO = 3;
/** Full CPU counts only together with service times over this much of low load: at the knee of a batch it is full, and they are twice. */
const CPU_FULL_RATIO = 0.97;
const CPU_SLOWER_RATIO = 2.2;
/** The workload's shape moved when service time at the same in flight moved by this share. */
const SHAPE_RATIO = 0.2;
const WIDE_CYCLES = 3;
/** A target this much over the knee is too high: half a bucket of the curve and rounding. */
const KNEE_SLACK = 1.15;
/** The same while the knee lies in a gap between what was seen: room to look into it. */
const GAP_SLACK = 1.25;
/** How far above a known knee the target may go to see whether it moved. */
const LOOK_ABOVE_SHARE = 0.2;
/** A found level is tried again after this long: models and machines change slowly. */
const CEILING_MS = 20 * CYCLE_MS;
/** Samples a verdict needs. */
const LEAST_SAMPLES = 3;
const LEAST_COMPLETED = 60;

/** The target to start from, before anything was learned. */
export function startTarget(world: World, learning: Learning): Learning {
  const { probedConcurrency } = world.replicas;
  const cap = (target: number) => Math.max(1, Math.min(target, world.maxInFlight ?? target));
  if (learning.target !== null) {
    const probeIsNews = learning.source === "default" && probedConcurrency !== null && learning.samples.length === 0;
    if (probeIsNews) return { ...learning, target: cap(probedConcurrency), source: "probe", doubling: false };
    return { ...learning, target: cap(learning.target) };
  }
  if (world.predecessorTarget !== null) {
    return { ...learning, target: cap(world.predecessorTarget), source: "predecessor", doubling: false };
  }
  if (probedConcurrency !== null) {
    return { ...learning, target: cap(probedConcurrency), source: "probe", doubling: false };
  }
  return { ...learning, target: cap(DEFAULT_TARGET), source: "default", doubling: true };
}

/**
 * One cycle of the vertical axis: over a threshold for most of the window lowers the target, all under and concurrency the
 * limit raises it, else it holds. Does nothing before the cycle's time has come.
 */
export function learnTarget(world: World, learning: Learning, nowMs: number): Learning {
  const target = learning.target ?? DEFAULT_TARGET;
  if (learning.cycleAtMs === null) return { ...learning, cycleAtMs: nowMs };
  if (nowMs - learning.cycleAtMs < CYCLE_MS) return learning;
  const recent = learning.samples.filter((sample) => sample.atMs > nowMs - CYCLE_MS);
  const completed = recent.reduce((sum, sample) => sum + sample.completed, 0);
  const done = (next: Partial<Learning>): Learning => ({
    ...learning,
    cycleAtMs: nowMs,
    wideCycles: Math.max(0, learning.wideCycles - 1),
    ...next,
  });
  if (recent.length < LEAST_SAMPLES || completed < LEAST_COMPLETED) return done({ reason: "learn: too-little-load" });
  const shift = shapeShift(learning, recent);
  if (shift !== null) {
    const curve = rescaleCurve(learning.curve, shift);
    return done({ curve, wideCycles: WIDE_CYCLES, samples: [], reason: "learn: shape-moved" });
  }
  const over = overThreshold(learning, recent);
  const knee = kneeOf(learning.curve);
  if (over !== null) return done(lowered(target, knee, over, nowMs));
  // What was learned in a busier hour still holds: a target well above the knee waits for the next such hour to hurt.
  if (knee !== null && isAboveKnee(target, knee)) return done(lowered(target, knee, "above-knee", nowMs));
  return done(raised(world, learning, target, knee, nowMs));
}

function isAboveKnee(target: number, knee: Knee): boolean {
  if (target <= 1 || knee.worseFrom === null) return false;
  return target > knee.inFlight * (knee.located ? KNEE_SLACK : GAP_SLACK);
}

function lowered(target: number, knee: Knee | null, over: string, nowMs: number): Partial<Learning> {
  const least = Math.max(1, Math.round(target * (1 - LOWER_SHARE)));
  const seen = over === "gradient" || over === "above-knee";
  const aim = seen && knee !== null && !knee.atLowest ? Math.round(knee.inFlight) : least;
  const next = target <= 1 ? 1 : Math.max(least, Math.min(target - 1, aim));
  return {
    target: next,
    source: "learned",
    doubling: false,
    // In a gap only the level just left is known to be too high.
    ceiling: {
      target: Math.max(next, knee?.located ? Math.min(aim, target - 1) : target - 1),
      untilMs: nowMs + CEILING_MS,
    },
    reason: `lower: ${over}`,
  };
}

function raised(world: World, learning: Learning, target: number, knee: Knee | null, nowMs: number): Partial<Learning> {
  const window = learning.samples.filter((sample) => sample.atMs > nowMs - LOOK_BACK_MS);
  if (!mostOf(window, (sample) => sample.inFlight >= LIMITING_RATIO * target)) return { reason: "hold: not-limiting" };
  const found = knee?.located ? Math.max(1, Math.round(knee.inFlight)) : null;
  const doubling = learning.doubling && knee?.worseFrom == null;
  const ceiling = learning.ceiling !== null && learning.ceiling.untilMs > nowMs ? learning.ceiling.target : null;
  if (learning.doubling && found !== null) {
    const next = Math.max(Math.round(target * (1 - LOWER_SHARE)), found);
    const settled = { target: next, untilMs: nowMs + CEILING_MS };
    return { target: next, source: "learned", doubling: false, ceiling: settled, reason: "settle: at-knee" };
  }
  const share = learning.wideCycles > 0 ? 2 * RAISE_SHARE : RAISE_SHARE;
  const step = doubling ? target : Math.max(1, Math.round(target * share));
  // A known knee is looked at again from a little above, and no further.
  const lookUpTo = found === null ? null : Math.max(target, found + Math.max(1, Math.round(found * LOOK_ABOVE_SHARE)));
  const caps = [world.maxInFlight, ceiling, lookUpTo].filter((cap) => cap !== null);
  const most = Math.min(Number.POSITIVE_INFINITY, ...caps);
  const next = Math.min(target + step, most);
  if (next <= target) return { reason: ceiling === null ? "hold: at-cap" : "hold: at-knee" };
  return { target: next, source: "learned", doubling, reason: doubling ? "raise: doubling" : "raise: limiting" };
}

/** The metric that is past its threshold in most of the samples, or null. */
function overThreshold(learning: Learning, samples: readonly Sample[]): string | null {
  const { curve } = learning;
  const low = lowestPoint(curve);
  const unloadedMs = low !== null && inFlightOf(low) <= 1.5 ? serviceMsOf(low) : learning.unloadedMs;
  const slower = (sample: Sample) => (unloadedMs === null ? 1 : sample.serviceMs / unloadedMs);
  if (mostOf(samples, (sample) => isPastKnee(curve, sample.inFlight, sample.serviceMs))) return "gradient";
  if (kneeOf(curve)?.atLowest && mostOf(samples, (sample) => sample.inFlight > 1.2)) return "gradient-below";
  if (mostOf(samples, (sample) => sample.inFlight > 1.5 && slower(sample) > LATENCY_RATIO)) return "latency";
  const full = (sample: Sample) => (sample.signals.cpu ?? 0) > CPU_FULL_RATIO && rises(learning, sample, "cpu");
  if (mostOf(samples, (sample) => full(sample) && slower(sample) > CPU_SLOWER_RATIO)) return "cpu";
  for (const [name, threshold] of Object.entries(THRESHOLDS)) {
    const over = (sample: Sample) => (sample.signals[name] ?? 0) > threshold && rises(learning, sample, name);
    if (mostOf(samples, over)) return name;
  }
  return null;
}

function rises(learning: Learning, sample: Sample, name: string): boolean {
  return risesWithLoad(learning.curve, sample.inFlight, name, sample.signals[name] ?? 0);
}

/** Factor by which service time moved at the same in flight, or null while it stayed within SHAPE_RATIO. */
function shapeShift(learning: Learning, samples: readonly Sample[]): number | null {
  let expected = 0;
  let seen = 0;
  for (const sample of samples) {
    const point = pointAt(learning.curve, sample.inFlight);
    if (point === null) return null;
    expected += serviceMsOf(point) * sample.completed;
    seen += sample.serviceMs * sample.completed;
  }
  const factor = seen / expected;
  return Math.abs(factor - 1) > SHAPE_RATIO ? factor : null;
}

function mostOf(samples: readonly Sample[], holds: (sample: Sample) => boolean): boolean {
  return samples.length > 0 && samples.filter(holds).length >= MOST * samples.length;
}
