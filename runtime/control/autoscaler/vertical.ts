import type { Curve } from "./curve.ts";
import { fadeCurve, pointAt, rescaleCurve, risesWithLoad, serviceMsOf } from "./curve.ts";
import type { Knee } from "./knee.ts";
import { kneeOf } from "./knee.ts";
import {
  AS_GOOD_SHARE,
  CEILING_MS,
  CYCLE_MS,
  DEFAULT_TARGET,
  KNEE_SLACK,
  LEAST_COMPLETED,
  LEAST_SAMPLES,
  LIMITING_RATIO,
  LOWER_SHARE,
  MOST,
  NEAR_SHARE,
  RAISE_SHARE,
  REMEMBERED_SHARE,
  SHAPE_RATIO,
  THRESHOLDS,
  UNFILLED_MS,
  WIDE_CYCLES,
} from "./laws.ts";
import type { Learning, Sample } from "./learning.ts";
import type { World } from "./world.ts";

/** The target to start from, before anything was learned. */
export function startTarget(world: World, learning: Learning): Learning {
  const { probedConcurrency } = world.replicas;
  const cap = (target: number) => Math.max(1, Math.min(target, world.maxInFlight ?? target));
  if (learning.target !== null) {
    const probeIsNews = learning.source === "default" && probedConcurrency !== null && learning.samples.length === 0;
    if (probeIsNews) return { ...learning, target: cap(fromProbe(probedConcurrency)), source: "probe" };
    return { ...learning, target: cap(learning.target) };
  }
  if (world.predecessorTarget !== null) {
    return { ...learning, target: cap(world.predecessorTarget), source: "predecessor", doubling: false };
  }
  if (probedConcurrency !== null) {
    return { ...learning, target: cap(fromProbe(probedConcurrency)), source: "probe", doubling: true };
  }
  return { ...learning, target: cap(DEFAULT_TARGET), source: "default", doubling: true };
}

/** A probe is a hint: on a busy machine it finds its knee too early, and a target that is too low starves its replicas. */
function fromProbe(probedConcurrency: number): number {
  return Math.max(DEFAULT_TARGET, probedConcurrency);
}

/**
 * One cycle of the vertical axis: over a threshold for most of the window lowers the target, all under and concurrency the
 * limit raises it, else it holds. Does nothing before the cycle's time has come, but that in onboarding a cycle ends as
 * soon as its samples are in. `cpuLimits`: CPU, and not concurrency, asks for the replicas that there are.
 */
export function learnTarget(world: World, learning: Learning, cpuLimits: boolean, nowMs: number): Learning {
  const { target, cycleAtMs, doubling } = learning;
  if (cycleAtMs === null || target === null) return { ...learning, cycleAtMs: nowMs };
  const limitingRatio = cpuLimits ? 1 : LIMITING_RATIO;
  const isLimiting = (samples: readonly Sample[]) => mostOf(samples, (s) => s.inFlight >= limitingRatio * target);
  const latest = latestSamples(learning.samples, nowMs, 0);
  const mayDouble = doubling && latest !== null && isLimiting(latest);
  if (nowMs - cycleAtMs < CYCLE_MS && !mayDouble) return learning;
  const done = (next: Partial<Learning>): Learning => {
    const moved = next.target !== undefined && next.target !== target;
    const fresh = moved ? { samples: [], open: null } : {};
    return { ...learning, cycleAtMs: nowMs, wideCycles: Math.max(0, learning.wideCycles - 1), ...fresh, ...next };
  };
  const recent = mayDouble ? latest : latestSamples(learning.samples, nowMs, CYCLE_MS);
  if (recent === null) return done({ reason: "learn: too-little-load" });
  const knee = kneeOf(learning.curve, world.onTheWayMs, learning.unloadedMs);
  const shift = shapeShift(learning.curve, knee, recent);
  if (shift !== null) {
    const curve = rescaleCurve(learning.curve, shift);
    return done({ curve, wideCycles: WIDE_CYCLES, samples: [], reason: "learn: shape-moved" });
  }
  const curve = fadeCurve(learning.curve, REMEMBERED_SHARE);
  const over = overThreshold(learning, recent);
  if (over !== null) return done({ curve, ...held(target, over, nowMs) });
  const small = Math.max(1, Math.round(target * (learning.wideCycles > 0 ? 2 * RAISE_SHARE : RAISE_SHARE)));
  const aim = knee === null ? Number.POSITIVE_INFINITY : aimFor(knee, target, small);
  // What was learned in a busier hour still holds: a target above the knee does not wait for the next such hour to hurt.
  if (aim < target) return done({ curve, ...lowered(target, aim), doubling, reason: "lower: above-knee" });
  if (!isLimiting(recent)) return done({ curve, ...unfilled(learning, target, recent, nowMs) });
  return done({ curve, ...raised(world, learning, target, { aim, small }, nowMs) });
}

/** The latest samples that hold enough to judge by and span at least `leastMs`, or null. */
function latestSamples(samples: readonly Sample[], nowMs: number, leastMs: number): readonly Sample[] | null {
  let completed = 0;
  for (let first = samples.length - 1; first >= 0; first--) {
    completed += samples[first]!.completed;
    const spans = leastMs === 0 || first === 0 || samples[first - 1]!.atMs <= nowMs - leastMs;
    if (spans && completed >= LEAST_COMPLETED && samples.length - first >= LEAST_SAMPLES) return samples.slice(first);
  }
  return null;
}

function lowered(target: number, aim: number): Partial<Learning> {
  const next = Math.max(1, aim, Math.round(target * (1 - LOWER_SHARE)));
  return { target: Math.min(next, target), source: "learned", doubling: false, doubled: null };
}

/** A resource is past its threshold: down to what it bears, and not past it for a while. */
function held(target: number, { name, bearable }: Over, nowMs: number): Partial<Learning> {
  const next = lowered(target, Math.floor(bearable));
  const ceiling = { target: next.target!, untilMs: nowMs + CEILING_MS };
  return { ...next, ceiling, reason: next.target! < target ? `lower: ${name}` : `hold: ${name}` };
}

/** Concurrency is not the limit: the target holds, but a doubled one that is never filled was never shown to be good. */
function unfilled({ doubled }: Learning, target: number, samples: readonly Sample[], nowMs: number): Partial<Learning> {
  if (doubled === null || nowMs - doubled.atMs < UNFILLED_MS) return { reason: "hold: not-limiting" };
  const shown = Math.round(Math.max(...samples.map((sample) => sample.inFlight)));
  const next = Math.min(target, Math.max(doubled.from, shown));
  return { target: next, source: "learned", doubling: false, doubled: null, reason: "settle: as-filled" };
}

/** Up towards the aim: twofold in onboarding, which ends where there is nowhere to go; else in small steps. */
function raised(
  world: World,
  learning: Learning,
  target: number,
  { aim, small }: { readonly aim: number; readonly small: number },
  nowMs: number,
): Partial<Learning> {
  const { ceiling, doubling } = learning;
  const bearable = ceiling !== null && ceiling.untilMs > nowMs ? ceiling.target : Number.POSITIVE_INFINITY;
  const most = Math.min(bearable, world.maxInFlight ?? Number.POSITIVE_INFINITY);
  const next = Math.min(target + (doubling ? target : small), aim, most);
  const source = "learned" as const;
  if (next <= target) {
    return { source, doubling: false, doubled: null, reason: most <= target ? "hold: at-cap" : "hold: at-knee" };
  }
  if (!doubling) return { source, target: next, doubled: null, reason: "raise: limiting" };
  return { source, target: next, doubled: { from: target, atMs: nowMs }, reason: "raise: doubling" };
}

/**
 * Where to go from `target`: to the knee; past one that is only foretold or lies in a gap, so that it is seen. It stays
 * where power is as good as known, or nearly so close by: a target does not go to and fro.
 */
function aimFor(knee: Knee, target: number, small: number): number {
  const { inFlight, powerShare } = knee;
  if (!knee.located) return Math.max(inFlight, target + small);
  if (knee.lowest) return 1;
  if (target > inFlight && !knee.seenBelow) return inFlight;
  if (!knee.seenAbove) return inFlight + small;
  const share = powerShare(target);
  const near = Math.abs(target - inFlight) <= inFlight * KNEE_SLACK;
  return share >= AS_GOOD_SHARE || (near && share >= NEAR_SHARE) ? target : inFlight;
}

interface Over {
  readonly name: string;
  /** Requests in flight at which the resource would be at its threshold, if it is used in proportion to them. */
  readonly bearable: number;
}

/** The resource that is past its threshold in most of the samples, or null. */
function overThreshold(learning: Learning, samples: readonly Sample[]): Over | null {
  for (const [name, threshold] of Object.entries(THRESHOLDS)) {
    const over = samples.filter((sample) => (sample.signals[name] ?? 0) > threshold && rises(learning, sample, name));
    if (over.length < MOST * samples.length) continue;
    const bearable = over.map((sample) => (sample.inFlight * threshold) / sample.signals[name]!);
    return { name, bearable: bearable.reduce((sum, each) => sum + each, 0) / bearable.length };
  }
  return null;
}

function rises(learning: Learning, sample: Sample, name: string): boolean {
  return risesWithLoad(learning.curve, sample.inFlight, name, sample.signals[name] ?? 0);
}

/**
 * Factor by which the middle service time moved at the same in flight, or null while it stayed within SHAPE_RATIO. Only
 * levels up to the knee compare: beyond it a little more in flight takes much longer.
 */
function shapeShift(curve: Curve, knee: Knee | null, samples: readonly Sample[]): number | null {
  const most = knee?.inFlight ?? Number.POSITIVE_INFINITY;
  const factors = samples.flatMap((sample) => {
    const point = sample.inFlight > most ? null : pointAt(curve, sample.inFlight);
    return point === null ? [] : [sample.serviceMs / serviceMsOf(point)];
  });
  if (factors.length < LEAST_SAMPLES) return null;
  const factor = factors.toSorted((a, b) => a - b)[Math.floor(factors.length / 2)]!;
  return Math.abs(factor - 1) > SHAPE_RATIO ? factor : null;
}

function mostOf(samples: readonly Sample[], holds: (sample: Sample) => boolean): boolean {
  return samples.length > 0 && samples.filter(holds).length >= MOST * samples.length;
}
