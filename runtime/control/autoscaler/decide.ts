import type { Verdict } from "../../core/controller.ts";
import { asMonoMs, type MonoMs, type Now } from "../../core/time.ts";
import { meanPerMs } from "../../core/window/span-sums.ts";
import type { Wanted } from "../../domain/replica.ts";
import { risesWithLoad } from "./curve.ts";
import type { Demand, Flow } from "./demand.ts";
import { concurrencyAsked, ingestLoad, readDemand } from "./demand.ts";
import type { HorizontalInput } from "./horizontal.ts";
import { decideHorizontal, madeUpReplicas } from "./horizontal.ts";
import { hpaReplicas } from "./hpa-ratio.ts";
import {
  CPU_BOUND_FACTOR,
  CPU_TARGET_RATIO,
  DECISION_MS,
  DOWN_WINDOW_MS,
  FAST_WINDOW_MS,
  TOLERANCE_RATIO,
} from "./laws.ts";
import type { Memory } from "./memory.ts";
import { cpuRatios, takeSamples } from "./sampling.ts";
import type { Supply } from "./supply.ts";
import { computeSupply } from "./supply.ts";
import { learnTarget, startTarget } from "./vertical.ts";
import type { World } from "./world.ts";

/** Decides one version's scale on both axes. Pure; may be called at any time and as often as one likes. */
export function decide(world: World, memory: Memory, now: Now): Verdict<Memory, Wanted> {
  if (world.place === null) {
    return { memory, output: null, because: { reason: "off: in-no-rollout", inputs: {} }, wakeAtMs: null };
  }
  if (!world.hostKnown) return holdUntilHostKnown(world, memory);
  const ingested = ingestLoad(world, memory, now.mono);
  const supply = computeSupply(world.replicas, memory.learning.startupMs, { monoMs: now.mono, wallMs: now.wall });
  const { demand, memory: seen } = readDemand(world, ingested, supply, now.mono);
  const sampled = takeSamples(world, startTarget(world, seen.learning), ingested.flows, now.mono);
  const cpuReplicas = replicasByCpu(world, seen, demand);
  const cpuLimits = cpuReplicas > 0 && cpuReplicas >= demand.meanUp / (sampled.target ?? 1);
  const learning = learnTarget(world, sampled, cpuLimits, now.mono);
  const active = isActive(ingested.flows, demand);
  const watched = watch(world, { ...seen, cpuReplicas, learning }, demand, active, now.mono);
  const target = learning.target ?? 1;
  const wanted = (replicas: number): Wanted => ({ version: world.version, replicas, targetConcurrency: target });
  if (world.place.phase === "kept" || world.place.phase === "failed") {
    // Its target stays known: a version that is rolled back to, or the next one, starts from it.
    const because = { reason: `off: ${world.place.phase}`, inputs: { target } };
    return { memory: { ...watched, wanted: 0 }, output: wanted(0), because, wakeAtMs: null };
  }
  const input = horizontalInput(world, watched, demand, supply, target, now);
  const step = decideHorizontal(input);
  const madeUp = madeUpReplicas(step, input);
  return {
    memory: { ...watched, wanted: step.replicas },
    output: wanted(step.replicas + madeUp),
    because: {
      reason: madeUp > 0 ? `${step.reason}+replace-lost` : step.reason,
      inputs: { ...explain(input, learning.reason), madeUp },
    },
    wakeAtMs: step.replicas === 1 ? sleepAtMs(world, watched, now.mono) : null,
  };
}

/** After a restart: what was kept stays wanted, and nothing is concluded from replicas that nobody has told of yet. */
function holdUntilHostKnown({ version }: World, memory: Memory): Verdict<Memory, Wanted> {
  const { wanted, learning } = memory;
  const output = wanted === null ? null : { version, replicas: wanted, targetConcurrency: learning.target ?? 1 };
  return { memory, output, because: { reason: "hold: host-unknown", inputs: { wanted } }, wakeAtMs: null };
}

/** When the idle window of the last replica ends, or null where that is past. */
function sleepAtMs(world: World, memory: Memory, nowMs: number): MonoMs | null {
  if (memory.lastActiveMs === null || world.sleepAfterMs === null) return null;
  const atMs = memory.lastActiveMs + world.sleepAfterMs;
  return atMs > nowMs ? asMonoMs(atMs) : null;
}

/** Whether requests came or were held since the last look, or are now. */
function isActive(flows: readonly Flow[], demand: Demand): boolean {
  const came = (flow: Flow) => flow.arrivals + flow.turnedAway + flow.inFlightMs + flow.queuedMs > 0;
  return demand.inFlightNow + demand.queuedNow > 0 || flows.some(came);
}

/** Keeps track of what holds scale-down back: how long the window was watched, activity, first readiness, the period. */
function watch(world: World, memory: Memory, demand: Demand, active: boolean, nowMs: number): Memory {
  const sizedForWeight = world.place?.sizedForWeight ?? 0;
  // A window watched at a smaller share of the traffic says nothing about the larger one.
  const shareGrew = memory.sizedForWeight !== null && sizedForWeight > memory.sizedForWeight;
  const blind = demand.seen === "missing";
  const existing = world.replicas.ready + world.replicas.startingSinceMs.length + world.replicas.broken;
  // Of a version that nothing was ever wanted of, the whole past is known: there was none.
  const isNew = memory.anchor === null && memory.wanted === null && existing === 0;
  const before = isNew ? nowMs - DOWN_WINDOW_MS : memory.watchedSinceMs;
  const neverHeard = Object.keys(memory.marks).length === 0;
  const watchedSinceMs = shareGrew ? nowMs : blind ? (neverHeard ? before : null) : (before ?? nowMs);
  const wanted = memory.wanted ?? 0;
  const known = memory.anchor === null ? Math.max(wanted, existing) : wanted;
  // A period begins with its first step, so that no two steps fall into less than one.
  const { anchor } = memory;
  const periodOver = anchor === null || anchor.replicas === known || nowMs - anchor.atMs >= DECISION_MS;
  return {
    ...memory,
    wanted: known,
    anchor: periodOver ? { replicas: known, atMs: nowMs } : anchor,
    sizedForWeight,
    watchedSinceMs,
    lastActiveMs: active ? nowMs : (memory.lastActiveMs ?? nowMs),
    everReady: memory.everReady || world.replicas.ready > 0,
  };
}

/** Replicas by the ratio law for CPU, bounded by what demand makes plausible; the last reading while there is no newer one. */
function replicasByCpu(world: World, memory: Memory, demand: Demand): number {
  const { meters } = world.replicas;
  const { curve, samples } = memory.learning;
  const last = samples[samples.length - 1];
  if (last === undefined || !risesWithLoad(curve, last.inFlight, "cpu", last.signals.cpu ?? 0)) return 0;
  const readings = cpuRatios(meters, memory.learning.meters);
  if (readings.length === 0) return meters.length === 0 ? 0 : memory.cpuReplicas;
  const replicas = hpaReplicas({
    readings,
    missing: meters.length - readings.length,
    target: CPU_TARGET_RATIO,
    current: memory.wanted ?? meters.length,
    toleranceRatio: TOLERANCE_RATIO,
  });
  const byDemand = Math.max(1, Math.ceil(demand.meanUp / (memory.learning.target ?? 1)));
  return Math.min(replicas, Math.ceil(byDemand * CPU_BOUND_FACTOR));
}

function horizontalInput(
  world: World,
  memory: Memory,
  demand: Demand,
  supply: Supply,
  target: number,
  now: Now,
): HorizontalInput {
  const share = (world.place?.sizedForWeight ?? 0) / 100;
  const staging = world.place?.phase === "staging";
  const wanted = memory.wanted ?? 0;
  // Without its spec a version stays as it is.
  const range = world.concurrency ?? { min: wanted * target, max: wanted * target };
  const max = share > 0 ? Math.max(1, Math.ceil((range.max * share) / target)) : 0;
  const min = Math.min(max, Math.max(staging ? 1 : 0, Math.ceil((range.min * share) / target)));
  const arrivalsPerMs = meanPerMs(memory.arrivals, now.mono, FAST_WINDOW_MS) ?? 0;
  return {
    wanted,
    anchor: memory.anchor?.replicas ?? wanted,
    target,
    demand,
    wakeDemand: concurrencyAsked({
      inFlight: demand.inFlightNow,
      queued: demand.queuedNow,
      arrivalsPerMs,
      turnedAwayPerMs: 0,
      serviceMs: memory.learning.unloadedMs,
    }),
    supply,
    bounds: { min, max },
    cpuReplicas: memory.cpuReplicas,
    watchedMs: memory.watchedSinceMs === null ? 0 : now.mono - memory.watchedSinceMs,
    idleMs: memory.lastActiveMs === null ? 0 : now.mono - memory.lastActiveMs,
    sleepAfterMs: world.sleepAfterMs,
    maySleep: !staging && (memory.everReady || supply.pending === 0),
    saturated: demand.queuedNow > 0,
  };
}

function explain(input: HorizontalInput, learned: string): Record<string, number | string> {
  const { demand, supply, bounds } = input;
  return {
    wanted: input.wanted,
    anchor: input.anchor,
    target: input.target,
    learned,
    meanUp: round(demand.meanUp),
    meanFast: round(demand.meanFast),
    peak: round(demand.peak),
    inFlight: demand.inFlightNow,
    queued: demand.queuedNow,
    standing: round(demand.standing),
    load: demand.seen,
    ready: supply.ready,
    pending: supply.pending,
    unavailable: supply.unavailable,
    cpuReplicas: input.cpuReplicas,
    min: bounds.min,
    max: bounds.max,
    watchedMs: input.watchedMs,
    idleMs: input.idleMs,
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
