import { exponential, seededUniform } from "../../runtime/core/prng.ts";
import { fixedStart } from "../../runtime/simulator/model-fleet.ts";
import {
  batching,
  batchingInTurn,
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
import { report } from "./support/report.ts";
import { bestTarget, errorOf, GOOD_ERROR, type Level, type Measured } from "./zoo/best-fixed.ts";
import { Gradient2 } from "./zoo/gradient2.ts";

/**
 * The learned target concurrency of modelled services against each one's best fixed target, found by a sweep and judged as
 * in bench:learn (zoo/best-fixed.ts). Load is clients that wait for their answers, in a whole region: replicas come and go
 * by the same law. Beside it a fixed target of 100 x 0.7 (Knative's default) and a Gradient2-style limiter. Prints a
 * table, then a line of JSON.
 * Figures: `worstErrorRatio`, the largest shortfall in throughput or excess in p99 against the best fixed target, at the
 * median target of the last ten minutes; `cyclesToConverge`, most cycles of 30 s until the error was at most 15 % and stayed
 * so for two minutes.
 */

/** Each with clients that fill eight replicas at their best. */
const SERVED: readonly { readonly service: ServiceModel; readonly clients: number }[] = [
  { service: cpuBound(200, 1), clients: 8 },
  { service: cpuBound(200, 4), clients: 32 },
  { service: cpuBound(800, 16), clients: 128 },
  { service: memoryBound(200, 8, 6), clients: 48 },
  { service: batching(100, 10), clients: 80 },
  { service: batching(800, 8), clients: 800 },
  { service: batchingInTurn(400, 20), clients: 320 },
  { service: ioWaiting(10_000, 100, 2), clients: 1_600 },
];
const MINUTES = 30;
const CYCLE_MS = 30_000;
/** Clients come this often and stay twice as long. */
const OTHERS_MS = 60_000;
const STAYS_CYCLES = 4;
const REQUESTS = 6_000;
/** Over twice the largest best there is. */
const MOST_LEVEL = 500;

/** One replica that always holds `target` requests: throughput and p99 over 6,000 of them. */
function measure(service: ServiceModel, target: number): Measured {
  const clock = new VirtualClock();
  const replica = new SharedReplica(clock, service);
  const uniform = seededUniform(17);
  const latencies: number[] = [];
  const start = () => {
    const sentMs = clock.monoMs();
    replica.start(exponential(uniform, 1), () => {
      latencies.push(clock.monoMs() - sentMs);
      if (latencies.length < REQUESTS) start();
    });
  };
  for (let request = 0; request < target; request++) start();
  while (latencies.length < REQUESTS) clock.runUntil(clock.monoMs() + 100);
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    target,
    perSecond: (latencies.length / clock.monoMs()) * 1_000,
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
  };
}

/** The best of a sweep in steps of at most 10 %, which cost nothing in virtual time. */
function bestFixed(service: ServiceModel): Measured {
  const levels: Level[] = [];
  for (let target = 1; target <= MOST_LEVEL; target = Math.max(target + 1, Math.floor(target * 1.1))) {
    levels.push(measure(service, target));
  }
  return measure(service, bestTarget(levels));
}

/** Runs the region from its default target and returns the target at each cycle. */
function learnedTargets(service: ServiceModel, clients: number): readonly number[] {
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
  region.clients("model", clients, endMs);
  // Others come and go, up to half as many again, so that in flight per replica takes more than one value.
  const uniform = seededUniform(5);
  for (let atMs = CYCLE_MS; atMs < endMs; atMs += OTHERS_MS) {
    const count = Math.round((clients / 4) * uniform());
    region.clock.after(atMs - CYCLE_MS, () => region.clients("model", count, atMs + 2 * OTHERS_MS));
  }
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

function study({ service, clients }: (typeof SERVED)[number]) {
  const best = bestFixed(service);
  const known = new Map<number, number>();
  const errorAt = (target: number): number => {
    const error = known.get(target) ?? errorOf(measure(service, Math.max(1, Math.round(target))), best);
    known.set(target, error);
    return error;
  };
  const targets = learnedTargets(service, clients);
  const learned = targets.slice(-20).toSorted((a, b) => a - b)[10] ?? 1;
  const good = targets.map((target) => errorAt(target) <= GOOD_ERROR);
  const first = good.findIndex((_, index) => good.slice(index, index + STAYS_CYCLES).every(Boolean));
  return {
    service: service.name,
    best: best.target,
    learned,
    error: errorAt(learned),
    cycles: first < 0 ? targets.length : first + 1,
    fixed: errorAt(70),
    gradient2At: gradient2Limit(service),
    gradient2: errorAt(gradient2Limit(service)),
  };
}

function main(): void {
  const results = SERVED.map(study);
  console.table(
    results.map(({ gradient2At, ...result }) => ({
      service: result.service,
      best: result.best,
      learned: result.learned,
      error: percent(result.error),
      cycles: result.cycles,
      "fixed 70": percent(result.fixed),
      "gradient2 at": gradient2At,
      "gradient2 error": percent(result.gradient2),
    })),
  );
  const worst = (pick: (result: (typeof results)[number]) => number): number => Math.max(...results.map(pick));
  report("learn-model", {
    worstErrorRatio: worst(({ error }) => error),
    cyclesToConverge: worst(({ cycles }) => cycles),
    worstErrorRatioFixed: worst(({ fixed }) => fixed),
    worstErrorRatioGradient2: worst(({ gradient2 }) => gradient2),
  });
}

main();
