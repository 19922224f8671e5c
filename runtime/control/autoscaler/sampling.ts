import { observeCurve } from "./curve.ts";
import type { Flow } from "./demand.ts";
import { unloadedService } from "./demand.ts";
import type { Learning, OpenSample, Sample } from "./learning.ts";
import type { ReplicaMeter, World } from "./world.ts";

/** A sample lasts at least this long, and until it holds enough requests, but not for ever. */
const SAMPLE_MS = 5_000;
const SAMPLE_COMPLETED = 20;
const SAMPLE_LONGEST_MS = 30_000;
/** In flight and service time may differ by this share in a steady sample, and by chance: a mean of N is known to 2/sqrt(N). */
const STEADY_RATIO = 0.15;
const CHANCE = 2;
/** Samples are held for this long: a slow model needs minutes to show enough requests. */
const HELD_MS = 300_000;

/** Takes new flows and meters into the learning: closes a sample when it is long enough, and drops it when replicas changed under it. */
export function takeSamples(world: World, learning: Learning, flows: readonly Flow[], nowMs: number): Learning {
  const ready = world.replicas.ready;
  const startupMs = larger(learning.startupMs, world.replicas.startupMs);
  // The router's own share of a service time is small beside the model's; below one per replica nothing waits for another.
  const lowLoad = Math.max(1, ready) * Math.max(1, (learning.target ?? 1) * 0.3);
  const unloadedMs = unloadedService(learning.unloadedMs, flows, lowLoad) ?? world.replicas.warmupServiceMs;
  const base: Learning = { ...learning, startupMs, unloadedMs };
  if (ready <= 0) return { ...base, open: null };
  if (learning.open === null || learning.open.ready !== ready) {
    const settledAtMs = nowMs + Math.min(unloadedMs ?? 0, SAMPLE_LONGEST_MS);
    return { ...base, open: openSample(ready, nowMs, settledAtMs), meters: markMeters(world) };
  }
  if (nowMs < learning.open.settledAtMs) {
    return { ...base, open: { ...learning.open, fromMs: nowMs }, meters: markMeters(world) };
  }
  const open = addFlows(learning.open, flows);
  const ageMs = nowMs - open.fromMs;
  const full = ageMs >= SAMPLE_MS && open.completed >= SAMPLE_COMPLETED;
  if (!full && ageMs < SAMPLE_LONGEST_MS) return { ...base, open };
  const next: Learning = { ...base, open: openSample(ready, nowMs, nowMs), meters: markMeters(world) };
  if (open.completed === 0 || !isSteady(open)) return next;
  const sample: Sample = {
    atMs: nowMs,
    inFlight: open.inFlightMs / ageMs / ready,
    serviceMs: open.serviceMs / open.completed,
    completed: open.completed,
    signals: readSignals(world, learning.meters),
  };
  return {
    ...next,
    curve: observeCurve(learning.curve, sample),
    samples: [...learning.samples.filter((old) => old.atMs > nowMs - HELD_MS), sample],
  };
}

function openSample(ready: number, fromMs: number, settledAtMs: number): OpenSample {
  return { ready, fromMs, settledAtMs, inFlightMs: 0, serviceMs: 0, completed: 0 };
}

/**
 * In steady state the time requests spent in flight equals the service time of those that ended (Little's law); while a
 * queue builds or drains, the ones that end were served at another concurrency than the one read.
 */
function isSteady(open: OpenSample): boolean {
  const ratio = STEADY_RATIO + CHANCE / Math.sqrt(open.completed);
  return Math.abs(open.inFlightMs - open.serviceMs) <= ratio * Math.max(open.inFlightMs, open.serviceMs);
}

function addFlows(open: OpenSample, flows: readonly Flow[]): OpenSample {
  let { inFlightMs, serviceMs, completed } = open;
  for (const flow of flows) {
    inFlightMs += flow.inFlightMs;
    serviceMs += flow.serviceMs;
    completed += flow.completed;
  }
  return { ...open, inFlightMs, serviceMs, completed };
}

function markMeters(world: World): Record<string, ReplicaMeter> {
  return Object.fromEntries(world.replicas.meters.map((meter) => [meter.replica, meter]));
}

/** Means over the metered replicas; CPU and throttling by difference to each one's last mark of the same epoch. */
function readSignals(world: World, marks: Readonly<Record<string, ReplicaMeter>>): Record<string, number> {
  const cpu = cpuRatios(world.replicas.meters, marks);
  const throttled = world.replicas.meters.flatMap((meter) => {
    const mark = marks[meter.replica];
    if (mark === undefined || mark.epoch !== meter.epoch || meter.atMs <= mark.atMs) return [];
    if (meter.throttledMsTotal === null || mark.throttledMsTotal === null) return [];
    return [(meter.throttledMsTotal - mark.throttledMsTotal) / (meter.atMs - mark.atMs)];
  });
  const gauge = (read: (meter: ReplicaMeter) => number | null) =>
    world.replicas.meters.map(read).filter((value) => value !== null);
  const means = {
    cpu: mean(cpu),
    throttled: mean(throttled),
    memory: mean(gauge((meter) => meter.memoryRatio)),
    kvUse: mean(gauge((meter) => meter.kvUseRatio)),
    sequencesWaiting: mean(gauge((meter) => meter.sequencesWaiting)),
  };
  return Object.fromEntries(Object.entries(means).filter((entry): entry is [string, number] => entry[1] !== null));
}

/** CPU use over the allotment of each metered replica since its mark; one that restarted has none. */
export function cpuRatios(
  meters: readonly ReplicaMeter[],
  marks: Readonly<Record<string, ReplicaMeter>>,
): readonly number[] {
  return meters.flatMap((meter) => {
    const mark = marks[meter.replica];
    if (mark === undefined || mark.epoch !== meter.epoch || meter.atMs <= mark.atMs) return [];
    return [(meter.cpuMsTotal - mark.cpuMsTotal) / (meter.atMs - mark.atMs) / meter.cpuCount];
  });
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function larger(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}
