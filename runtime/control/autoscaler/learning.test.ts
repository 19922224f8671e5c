import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { autoscalerWorld } from "../../../test/support/autoscaler-world.ts";
import { seededUniform } from "../../core/prng.ts";
import type { Flow } from "./demand.ts";
import { CYCLE_MS, ON_THE_WAY_MS } from "./laws.ts";
import { initLearning, type Learning } from "./learning.ts";
import { takeSamples } from "./sampling.ts";
import { learnTarget, startTarget } from "./vertical.ts";

type ServiceMs = (inFlight: number) => number;

/** A fifth of the bench's 30 minutes is onboarding: what is learned must be there within 12 cycles, and stay. */
const ONBOARDING_CYCLES = 12;
const AFTER_CYCLES = 40;

const world = autoscalerWorld({ concurrency: { min: 0, max: 100_000 } });

/** Targets at the end of each cycle where load always fills the target, and a second's mean service time is off by `noise`. */
function learnedTargets(serviceMs: ServiceMs, seed: number, noise: number, spikeAtMs = Number.NaN): readonly number[] {
  const uniform = seededUniform(seed);
  const targets: number[] = [];
  let learning: Learning = startTarget(world, initLearning(null));
  for (let nowMs = 1_000; nowMs <= (ONBOARDING_CYCLES + AFTER_CYCLES) * CYCLE_MS; nowMs += 1_000) {
    const inFlight = learning.target ?? 1;
    const spike = nowMs > spikeAtMs && nowMs <= spikeAtMs + 10_000 ? 5 : 1;
    const seenMs = serviceMs(inFlight) * (1 + noise * (2 * uniform() - 1)) * spike;
    const completed = (inFlight / seenMs) * 1_000;
    const flow: Flow = {
      endMs: nowMs,
      spanMs: 1_000,
      arrivals: completed,
      completed,
      turnedAway: 0,
      inFlightMs: inFlight * 1_000,
      queuedMs: 0,
      serviceMs: inFlight * 1_000,
    };
    learning = learnTarget(world, takeSamples(world, learning, [flow], nowMs), false, nowMs);
    if (nowMs % CYCLE_MS === 0) targets.push(learning.target ?? 1);
  }
  return targets;
}

/** Latency as a client sees it. */
const latencyMs = (serviceMs: ServiceMs, inFlight: number) => serviceMs(inFlight) + ON_THE_WAY_MS;
const throughput = (serviceMs: ServiceMs, inFlight: number) => inFlight / serviceMs(inFlight);

/** Slow reference: the whole number with the most throughput over latency. */
function bestTarget(serviceMs: ServiceMs): number {
  const power = (n: number) => throughput(serviceMs, n) / latencyMs(serviceMs, n);
  let best = 1;
  for (let n = 2; n <= 1_000; n++) if (power(n) > power(best)) best = n;
  return best;
}

/** The larger of throughput lost and latency gained against the best, as a share. */
function errorOf(serviceMs: ServiceMs, target: number): number {
  const best = bestTarget(serviceMs);
  return Math.max(
    1 - throughput(serviceMs, target) / throughput(serviceMs, best),
    latencyMs(serviceMs, target) / latencyMs(serviceMs, best) - 1,
  );
}

const cpuBound = fc.integer({ min: 1, max: 100 }).map((cores) => ({
  name: `${cores} cores`,
  serviceMs: (n: number) => 100 * Math.max(1, n / cores),
}));
const batching = fc.integer({ min: 2, max: 200 }).map((ratio) => ({
  name: `a batch of ${ratio} + n`,
  serviceMs: (n: number) => 100 * (1 + n / ratio),
}));
const waiting = fc.integer({ min: 20, max: 200 }).map((most) => ({
  name: `waits on others, ${most} at once`,
  serviceMs: (n: number) => 1_000 * Math.max(1, n / most),
}));
const memoryBound = fc.integer({ min: 2, max: 60 }).map((fits) => ({
  name: `memory for ${fits}`,
  serviceMs: (n: number) => 100 * Math.max(1, (n / fits) ** 3),
}));
/** Batches that run in turn: a request waits for the run under way, but for one that is alone. From 20 up it has not the most power. */
const batchesInTurn = fc.integer({ min: 20, max: 120 }).map((knee) => ({
  name: `batches in turn, knee ${knee}`,
  serviceMs: (n: number) => 100 * (n <= 1 ? 1 : 2) + (200 / knee) * n,
}));
/** Far faster than the way to it. */
const fast = fc
  .record({
    fixedMs: fc.double({ min: 0.02, max: 1, noNaN: true }),
    perRequestMs: fc.double({ min: 0.005, max: 0.1, noNaN: true }),
  })
  .map(({ fixedMs, perRequestMs }) => ({
    name: `${fixedMs} + ${perRequestMs} n ms`,
    serviceMs: (n: number) => fixedMs + perRequestMs * n,
  }));
/** Gunther's universal scalability law. */
const scalability = fc
  .record({
    contention: fc.double({ min: 0.005, max: 0.2, noNaN: true }),
    coherency: fc.double({ min: 0.00001, max: 0.01, noNaN: true }),
  })
  .map(({ contention, coherency }) => ({
    name: `contention ${contention}, coherency ${coherency}`,
    serviceMs: (n: number) => 50 * (1 + contention * (n - 1) + coherency * n * (n - 1)),
  }));

describe("the learned target", () => {
  it("is within 15 % of the best fixed one in throughput and latency after 12 cycles for 29 models of 30, and stays", () => {
    const kinds = fc.oneof(cpuBound, batching, waiting, memoryBound, batchesInTurn, fast, scalability);
    const cases = fc.sample(kinds, { numRuns: 60, seed: 7 });
    const runs = cases.map(({ name, serviceMs }, seed) => {
      const after = learnedTargets(serviceMs, seed, 0.03).slice(ONBOARDING_CYCLES);
      return {
        name,
        error: Math.max(...after.map((target) => errorOf(serviceMs, target))),
        moves: after.filter((target, cycle) => cycle > 0 && target !== after[cycle - 1]).length,
      };
    });
    // The worst of 40 cycles counts. Where one request more or less is 20 %, 15 % is not always met.
    const off = runs.filter(({ error }) => error > 0.15);
    expect(off.length, JSON.stringify(off)).toBeLessThanOrEqual(cases.length / 30);
    expect(Math.max(...runs.map(({ error }) => error))).toBeLessThan(0.5);
    // A target that goes to and fro restarts nothing, but moves replicas: one that is settled is left alone.
    expect(runs.filter(({ moves }) => moves > 5).length).toBeLessThanOrEqual(cases.length / 20);
  });

  it("is neither lowered nor raised by a spike of 10 s at five times the latency", () => {
    const targets = learnedTargets((n) => 100 * Math.max(1, n / 8), 3, 0.03, 20 * CYCLE_MS + 5_000);
    expect(new Set(targets.slice(ONBOARDING_CYCLES))).toEqual(new Set([8]));
  });
});
