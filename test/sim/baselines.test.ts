import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stepRate } from "../../runtime/simulator/arrivals.ts";
import { autoscalerLaw } from "../../runtime/simulator/autoscaler-law.ts";
import { fixedStart } from "../../runtime/simulator/model-fleet.ts";
import { type Experiment, type LabLaw, runExperiment } from "../../runtime/simulator/scaling-lab.ts";
import { cpuBound, ioWaiting } from "../../runtime/simulator/service-model.ts";
import { hpaLaw, hpaRecommendation, kpaDecision, kpaLaw } from "./baselines.ts";
import { readTrace } from "./trace.ts";

// The study's table: demand steps from 10 to 10,000 QPS, a replica carries 10 QPS at a concurrency of 10, so that 1,000
// are needed; requests take a second however many are in flight, which keeps the offered concurrency at 10,000.
const STEP_MS = 60_000;
/** 1,000 less 5 %: requests in flight are a Poisson count, and a law that reads 9,900 is right to want 990. */
const NEEDED = 950;
const service = ioWaiting(999, 1, 1_000_000);
const plan: Experiment = {
  seed: 7,
  durationMs: STEP_MS + 300_000,
  rate: stepRate(10, 10_000, STEP_MS),
  service,
  start: fixedStart(0),
  queueMost: 1_000_000,
  initialReplicas: 1,
};

function secondsToNeed(law: LabLaw, of: Experiment = plan): number {
  const row = runExperiment(of, law).rows.find((each) => each.atMs >= STEP_MS && each.ready >= NEEDED);
  return row === undefined ? Number.POSITIVE_INFINITY : (row.atMs - STEP_MS) / 1_000;
}

const ours = (): LabLaw =>
  autoscalerLaw({
    concurrency: { min: 0, max: 1_000_000 },
    service,
    // No queue, as in the table's model.
    maxInFlight: 1_000_000,
    startTarget: 10,
    frozenTarget: true,
  });

describe("decision speed on a step from 10 to 10,000 QPS", () => {
  it("of Knative's law is the table's 6 s", () => {
    // Its panic window is 6 s and its tick 2 s; requests take a second to be in flight.
    expect(secondsToNeed(kpaLaw(10))).toBeGreaterThanOrEqual(4);
    expect(secondsToNeed(kpaLaw(10))).toBeLessThanOrEqual(8);
  });

  it("of the Kubernetes HPA is the table's 135 to 180 s", () => {
    // Ten doublings at 15 s each from 1, and the metric's age of 15 to 60 s before the first.
    expect(secondsToNeed(hpaLaw(10, 15_000))).toBeGreaterThanOrEqual(120);
    expect(secondsToNeed(hpaLaw(10, 15_000))).toBeLessThanOrEqual(150);
    expect(secondsToNeed(hpaLaw(10, 60_000))).toBeGreaterThanOrEqual(165);
    expect(secondsToNeed(hpaLaw(10, 60_000))).toBeLessThanOrEqual(195);
  });

  it("of this autoscaler is under 20 s: 1 -> 8 -> 64 -> 512 -> 1,000 in periods of 5 s", () => {
    expect(secondsToNeed(ours())).toBeLessThan(20);
  });

  it("of this autoscaler is under 60 s where a replica needs 20 s to start", () => {
    expect(secondsToNeed(ours(), { ...plan, start: fixedStart(20_000) })).toBeLessThan(60);
  });

  it("overshoots less than Knative's law, which provisions for 70 % of its target", () => {
    const most = (law: LabLaw) => Math.max(...runExperiment(plan, law).rows.map((row) => row.asked));
    // 10,000 in flight over 10 x 0.7 is 1,429; ours aims at 1,000 and keeps what Poisson noise adds.
    expect(most(kpaLaw(10))).toBeGreaterThanOrEqual(1_400);
    expect(most(ours())).toBeLessThanOrEqual(1_150);
  });
});

describe("recorded bursts, of a hundred such services at once", () => {
  const trace = readTrace(join(import.meta.dirname, "traces/azure-llm-code-2023-excerpt.csv"));
  const work = cpuBound(1_000, 10);
  const recorded: Experiment = {
    ...plan,
    durationMs: trace.countBySecond.length * 1_000,
    rate: trace.rate(100),
    service: work,
    start: fixedStart(5_000),
  };
  const ourLaw = () =>
    autoscalerLaw({ concurrency: { min: 0, max: 1_000_000 }, service: work, startTarget: 10, frozenTarget: true });

  it("cost fewer replica-seconds than under either baseline, and turn nobody away", () => {
    const mine = runExperiment(recorded, ourLaw());
    // Measured: 167,000 against 202,000 (Knative) and 212,000 (HPA).
    for (const law of [hpaLaw(10, 15_000, 12), kpaLaw(10, 12)])
      expect(mine.replicaSeconds).toBeLessThan(runExperiment(recorded, law).replicaSeconds);
    expect(mine.turnedAway).toBe(0);
    expect(mine.arrivals).toBeGreaterThan(170_000);
  });

  it("give the same trace for the same seed", () => {
    expect(runExperiment(recorded, ourLaw()).traceHash).toBe(runExperiment(recorded, ourLaw()).traceHash);
    expect(runExperiment({ ...recorded, seed: 8 }, ourLaw()).traceHash).not.toBe(
      runExperiment(recorded, ourLaw()).traceHash,
    );
  });
});

describe("baseline laws", () => {
  it("HPA holds inside its tolerance, grows by at most twice or four pods, and never goes to zero", () => {
    expect(hpaRecommendation(10, 10.9, 10)).toBe(10);
    expect(hpaRecommendation(1, 10_000, 10)).toBe(5);
    expect(hpaRecommendation(100, 10_000, 10)).toBe(200);
    expect(hpaRecommendation(1, 0, 10)).toBe(1);
  });

  it("KPA in panic never falls, and leaves it only after 60 s below the threshold", () => {
    const burst = kpaDecision({ panicSinceMs: null, maxPanicPods: 0 }, 0, 10, 70, 700, 7);
    expect(burst.replicas).toBe(100);
    const after = kpaDecision(burst.state, 30_000, 100, 70, 7, 7);
    expect(after.replicas).toBe(100);
    expect(kpaDecision(after.state, 61_000, 100, 70, 7, 7).replicas).toBe(50);
  });
});
