/**
 * The autoscaler beside the laws of the Kubernetes HPA and of Knative, in virtual time: on a step from 10 to 10,000 requests
 * a second, and on recorded traffic. A replica computes 10 requests of 1 s at once; what does not fit waits.
 * `npm run bench:sim -- TRACE` replays a whole trace; without one, the excerpt of ten minutes in test/sim/traces.
 */
import { join } from "node:path";
import { computeHardCap } from "../../runtime/control/publisher/decide.ts";
import { type RateRps, stepRate } from "../../runtime/simulator/arrivals.ts";
import { autoscalerLaw } from "../../runtime/simulator/autoscaler-law.ts";
import { fixedStart } from "../../runtime/simulator/model-fleet.ts";
import { type Experiment, type LabLaw, type LabResult, runExperiment } from "../../runtime/simulator/scaling-lab.ts";
import { cpuBound } from "../../runtime/simulator/service-model.ts";
import { hpaLaw, kpaLaw } from "../sim/baselines.ts";
import { readTrace } from "../sim/trace.ts";
import { report, step } from "./support/report.ts";

const TARGET = 10;
const SERVICE_S = 1;
const STEP_AT_MS = 60_000;
/** 1,000 carry the step less 5 %: requests in flight are a Poisson count, and 9,900 of them are rightly 990 replicas. */
const NEEDED = 950;
/** A hundred such services at once: one alone needs seven replicas at its peak, which rounds any comparison away. */
const TIMES = 100;
/** Starts of a model that is already on the machine, and of one that is loaded. */
const STARTS_S = [5, 20];

/** What a replica takes at once under every law; the rest waits in one queue, which holds 40 s of the step. */
const HARD_CAP = computeHardCap(TARGET, null);
const QUEUE_MOST = 400_000;

const service = cpuBound(SERVICE_S * 1_000, TARGET);
const laws: Readonly<Record<string, () => LabLaw>> = {
  penstock: () =>
    autoscalerLaw({ concurrency: { min: 0, max: 1_000_000 }, service, startTarget: TARGET, frozenTarget: true }),
  hpa: () => hpaLaw(TARGET, 15_000, HARD_CAP),
  kpa: () => kpaLaw(TARGET, HARD_CAP),
};

function planOf(rate: RateRps, durationMs: number, startS: number): Experiment {
  const start = fixedStart(startS * 1_000);
  return { seed: 7, durationMs, rate, service, start, queueMost: QUEUE_MOST, initialReplicas: 1 };
}

function secondsToSteady({ rows }: LabResult): number {
  const row = rows.find((each) => each.atMs >= STEP_AT_MS && each.ready >= NEEDED && each.queued === 0);
  return row === undefined ? Number.POSITIVE_INFINITY : (row.atMs - STEP_AT_MS) / 1_000;
}

function compare(name: string, plan: Experiment, figuresOf: (result: LabResult) => Record<string, number>): void {
  const rows: Record<string, Record<string, number>> = {};
  for (const [law, make] of Object.entries(laws)) {
    step(`${name}: ${law}`);
    const result = runExperiment(plan, make());
    rows[law] = {
      ...figuresOf(result),
      failedPercent: (100 * result.turnedAway) / result.arrivals,
      p50Ms: result.latencyMs(0.5),
      p99Ms: result.latencyMs(0.99),
      replicaSeconds: result.replicaSeconds,
    };
    for (const [key, value] of Object.entries(rows[law])) figures[`${name}_${law}_${key}`] = value;
  }
  console.log(`\n${name}`);
  console.table(rows);
}

const figures: Record<string, number> = {};
const path =
  process.argv[2] ??
  process.env.PENSTOCK_TRACE ??
  join(import.meta.dirname, "../sim/traces/azure-llm-code-2023-excerpt.csv");
const trace = readTrace(path);
const spanMs = trace.countBySecond.length * 1_000;
/** Replicas that the busiest second keeps busy, there all the time. */
const peakReplicas = Math.ceil((Math.max(...trace.countBySecond) * TIMES * SERVICE_S) / TARGET);
for (const startS of STARTS_S) {
  compare(`step_start${startS}s`, planOf(stepRate(10, 10_000, STEP_AT_MS), 6 * 60_000, startS), (result) => ({
    secondsToSteady: secondsToSteady(result),
  }));
  compare(`trace_start${startS}s`, planOf(trace.rate(TIMES), spanMs, startS), (result) => ({
    savingPercent: 100 * (1 - result.replicaSeconds / ((peakReplicas * spanMs) / 1_000)),
    mostReplicas: Math.max(...result.rows.map((row) => row.asked)),
  }));
}
report("sim", figures, [
  `saving against ${peakReplicas} replicas, as the busiest second of the trace x ${TIMES} needs them`,
]);
