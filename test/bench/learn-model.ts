import { exponential, seededUniform } from "../../runtime/core/prng.ts";
import { constantRate } from "../../runtime/simulator/arrivals.ts";
import { fixedStart } from "../../runtime/simulator/model-fleet.ts";
import {
  batching,
  cpuBound,
  ioWaiting,
  memoryBound,
  type ServiceModel,
} from "../../runtime/simulator/service-model.ts";
import { SharedReplica } from "../../runtime/simulator/shared-replica.ts";
import { SimRegion } from "../../runtime/simulator/sim-region.ts";
import { VirtualClock } from "../../runtime/simulator/virtual-clock.ts";
import { MemoryDecisionLog, MemoryKeptStore, MemorySpecStore } from "../support/memory-stores.ts";
import { preparedOf, specOf } from "../support/specs.ts";
import { Gradient2 } from "./zoo/gradient2.ts";

/**
 * The learned target concurrency of modelled services against each one's best fixed target, found by a sweep: the one with
 * the most power, throughput over mean latency (Kleinrock 1979), as in bench:learn. Beside it a fixed target of 100 x 0.7
 * (Knative's default) and a Gradient2-style limiter. Prints a table, then a line of JSON.
 * Figures: `worstErrorRatio`, the largest shortfall in throughput or excess in p99 against the best fixed target, at the
 * median target of the last ten minutes; `cyclesToConverge`, most cycles of 30 s until the target was within 15 % of the
 * best and stayed there for two minutes.
 */

const SERVED: readonly { readonly service: ServiceModel; readonly rps: number }[] = [
  { service: cpuBound(200, 1), rps: 40 },
  { service: cpuBound(200, 4), rps: 160 },
  { service: cpuBound(800, 16), rps: 240 },
  { service: memoryBound(200, 8, 6), rps: 300 },
  { service: batching(100, 10), rps: 500 },
  { service: batching(800, 8), rps: 600 },
  { service: ioWaiting(10_000, 100, 2), rps: 200 },
];
const MINUTES = 30;
const CYCLE_MS = 30_000;

const STAYS_CYCLES = 4;

interface Measured {
  readonly perSecond: number;
  readonly meanMs: number;
  readonly p99Ms: number;
}

/** One replica that always holds `inFlight` requests: throughput and p99 over 6,000 of them. */
function measure(service: ServiceModel, inFlight: number): Measured {
  const clock = new VirtualClock();
  const replica = new SharedReplica(clock, service);
  const uniform = seededUniform(17);
  const latencies: number[] = [];
  const start = () => {
    const sentMs = clock.monoMs();
    replica.start(exponential(uniform, 1), () => {
      latencies.push(clock.monoMs() - sentMs);
      if (latencies.length < 6_000) start();
    });
  };
  for (let request = 0; request < inFlight; request++) start();
  while (latencies.length < 6_000) clock.runUntil(clock.monoMs() + 100);
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    perSecond: (latencies.length / clock.monoMs()) * 1_000,
    meanMs: latencies.reduce((sum, latency) => sum + latency, 0) / latencies.length,
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
  };
}

/** The fixed target with the most power of a sweep in steps of at most 10 %. */
function bestFixed(service: ServiceModel): { readonly target: number; readonly measured: Measured } {
  let best = { target: 1, measured: measure(service, 1) };
  for (let target = 2; target <= 1_000; target = Math.max(target + 1, Math.round(target * 1.1))) {
    const measured = measure(service, target);
    if (measured.perSecond / measured.meanMs > best.measured.perSecond / best.measured.meanMs)
      best = { target, measured };
  }
  return best;
}

/** How far a target is off the best: the larger of throughput lost and p99 gained, as a share. */
function errorOf(measured: Measured, best: Measured): number {
  return Math.max(1 - measured.perSecond / best.perSecond, measured.p99Ms / best.p99Ms - 1, 0);
}

/** Runs the region from its default target and returns the target at each cycle. */
function learnedTargets(service: ServiceModel, rps: number): readonly number[] {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error, with: () => log };
  const stores = {
    specs: new MemorySpecStore(),
    kept: new MemoryKeptStore(),
    decisions: new MemoryDecisionLog(),
    log,
  };
  const region = new SimRegion({
    seed: 5,
    service,
    start: fixedStart(2_000),
    machineCpuCount: 100_000,
    sizes: "exponential",
    stores,
  });
  const run = { ...specOf("model").run, cpuCount: service.cpuCount };
  const queue = { maxRequests: 5_000, maxBytes: 2 ** 30, maxWaitMs: 60_000 };
  const spec = specOf("model", { run, queue, concurrency: { min: 0, max: 100_000 } });
  region.deploy(spec, preparedOf(spec));
  region.clock.runUntil(CYCLE_MS);
  const endMs = MINUTES * 60_000;
  region.load("model", constantRate(rps), rps, endMs);
  const targets: number[] = [];
  for (let atMs = 2 * CYCLE_MS; atMs <= endMs; atMs += CYCLE_MS) {
    region.clock.runUntil(atMs);
    const [version] = region.control.board.keys("wanted");
    const wanted = region.control.board.get("wanted", version ?? "");
    targets.push(wanted.kind === "known" ? wanted.value.targetConcurrency : 1);
  }
  return targets;
}

/** Where a Gradient2 limiter goes under a load that fills every limit. */
function gradient2Limit(service: ServiceModel): number {
  const limiter = new Gradient2();
  for (let sample = 0; sample < 5_000; sample++) {
    limiter.sample(limiter.limit / service.completionsPerMs(limiter.limit), limiter.limit);
  }
  return limiter.limit;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function main(): void {
  let worstErrorRatio = 0;
  let worstErrorRatioFixed = 0;
  let worstErrorRatioGradient2 = 0;
  let cyclesToConverge = 0;
  const rows = SERVED.map(({ service, rps }) => {
    const best = bestFixed(service);
    const errorAt = (target: number) => errorOf(measure(service, Math.max(1, Math.round(target))), best.measured);
    const targets = learnedTargets(service, rps);
    const last = targets.slice(-20).toSorted((a, b) => a - b);
    const learned = last[10] ?? 1;
    const errors = targets.map(errorAt);
    const first = errors.findIndex((_, index) =>
      errors.slice(index, index + STAYS_CYCLES).every((error) => error <= 0.15),
    );
    const cycles = first < 0 ? targets.length : first + 1;
    const gradient2 = gradient2Limit(service);
    worstErrorRatio = Math.max(worstErrorRatio, errorAt(learned));
    worstErrorRatioFixed = Math.max(worstErrorRatioFixed, errorAt(70));
    worstErrorRatioGradient2 = Math.max(worstErrorRatioGradient2, errorAt(gradient2));
    cyclesToConverge = Math.max(cyclesToConverge, cycles);
    return {
      service: service.name,
      knee: best.target,
      learned,
      error: percent(errorAt(learned)),
      cycles,
      "fixed 70": percent(errorAt(70)),
      "gradient2 at": gradient2,
      "gradient2 error": percent(errorAt(gradient2)),
    };
  });
  console.table(rows);
  const figures = { worstErrorRatio, cyclesToConverge, worstErrorRatioFixed, worstErrorRatioGradient2 };
  console.log(JSON.stringify({ bench: "learn-model", figures }));
}

main();
