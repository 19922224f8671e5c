import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { autoscalerWorld } from "../../../test/support/autoscaler-world.ts";
import { seededUniform } from "../../core/prng.ts";
import type { Flow } from "./demand.ts";
import { CYCLE_MS } from "./laws.ts";
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

/** Slow reference: the whole number with the most throughput over latency. */
function bestTarget(serviceMs: ServiceMs): number {
  let best = 1;
  for (let n = 2; n <= 1_000; n++) if (n / serviceMs(n) ** 2 > best / serviceMs(best) ** 2) best = n;
  return best;
}

/** The larger of throughput lost and latency gained against the best, as a share. */
function errorOf(serviceMs: ServiceMs, target: number): number {
  const best = bestTarget(serviceMs);
  const throughput = target / serviceMs(target) / (best / serviceMs(best));
  return Math.max(1 - throughput, serviceMs(target) / serviceMs(best) - 1);
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
/** Gunther's universal scalability law. */
const scalability = fc
  .record({
    contention: fc.double({ min: 0.005, max: 0.2, noNaN: true }),
    coherency: fc.double({ min: 0.00001, max: 0.01, noNaN: true }),
  })
  .map(({ contention, coherency }) => ({
    name: `contention ${contention}, coherency ${coherency}`,
    within: 0.15,
    serviceMs: (n: number) => 50 * (1 + contention * (n - 1) + coherency * n * (n - 1)),
  }));

describe("the learned target", () => {
  it("is within 15 % of the best fixed one in throughput and latency after 12 cycles for four models of five, and stays", () => {
    const cases = fc.sample(fc.oneof(cpuBound, batching, waiting, memoryBound, scalability), { numRuns: 60, seed: 7 });
    const worst = cases.map(({ serviceMs }, seed) => {
      const after = learnedTargets(serviceMs, seed, 0.03).slice(ONBOARDING_CYCLES);
      return Math.max(...after.map((target) => errorOf(serviceMs, target)));
    });
    // The worst of 40 cycles counts. Where one request more or less is 20 %, or throughput falls off, 15 % is not always met.
    expect(worst.filter((error) => error <= 0.15).length).toBeGreaterThanOrEqual(cases.length * 0.8);
    expect(Math.max(...worst)).toBeLessThan(0.5);
  });

  it("is neither lowered nor raised by a spike of 10 s at five times the latency", () => {
    const targets = learnedTargets((n) => 100 * Math.max(1, n / 8), 3, 0.03, 20 * CYCLE_MS + 5_000);
    expect(new Set(targets.slice(ONBOARDING_CYCLES))).toEqual(new Set([8]));
  });
});
