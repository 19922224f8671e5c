import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FIRST_ORDINAL, replicaIdOf } from "../../domain/names.ts";
import {
  computeKnee,
  computeServiceMs,
  isFirstOfVersion,
  isWarm,
  nextProbeConcurrency,
  type ProbeStep,
} from "./plan.ts";

describe("warm-up", () => {
  test("goes on while it gets faster and ends when the last two runs gain less than a tenth", () => {
    expect(isWarm([100, 50])).toBe(false);
    expect(isWarm([100, 50, 25])).toBe(false);
    expect(isWarm([100, 50, 25, 24])).toBe(false);
    expect(isWarm([100, 50, 25, 24, 26])).toBe(true);
  });

  test("property: it always ends, however the durations fall", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 24, maxLength: 24 }), (runs) => {
        expect(isWarm(runs)).toBe(true);
      }),
    );
  });

  test("the service time is the median of the last three runs", () => {
    expect(computeServiceMs([900, 5, 40, 6])).toBe(6);
  });
});

/** Steps of the probe against a server of `workers` that takes 10 ms for a request. */
function probe(workers: number, limit: number): ProbeStep[] {
  const steps: ProbeStep[] = [];
  for (;;) {
    const concurrency = nextProbeConcurrency(steps, limit);
    if (concurrency === null) return steps;
    steps.push({ concurrency, ratePerSecond: Math.min(concurrency, workers) * 100 });
  }
}

describe("onboarding probe", () => {
  test("the knee is the least concurrency with nine tenths of the best rate", () => {
    expect(computeKnee(probe(1, 64), 64)).toBe(1);
    expect(computeKnee(probe(4, 64), 64)).toBe(4);
    expect(computeKnee(probe(8, 64), 64)).toBe(8);
  });

  test("it stops two steps after the last gain, and never passes the limit", () => {
    expect(probe(2, 64).map((step) => step.concurrency)).toEqual([1, 2, 4, 8]);
    expect(probe(100, 6).map((step) => step.concurrency)).toEqual([1, 2, 4, 6]);
    expect(probe(100, 1).map((step) => step.concurrency)).toEqual([1]);
  });

  test("only the first replica of a version probes", () => {
    const version = "iris-0123456789";
    const initial = replicaIdOf(version, FIRST_ORDINAL);
    expect([initial, `${version}-2`, `${version}-10`].map((id) => isFirstOfVersion(id, version))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("one step alone shows no knee", () => {
    expect(computeKnee([{ concurrency: 1, ratePerSecond: 10 }], 64)).toBeNull();
  });

  test("a probe that was broken off while the rate still rose has not seen the knee", () => {
    const whole = probe(8, 64);
    expect([1, 2, 3, 4].map((steps) => computeKnee(whole.slice(0, steps), 64))).toEqual([null, null, null, null]);
    expect(computeKnee(whole.slice(0, 5), 64)).toBe(8);
  });

  test("a model that takes as many at once as it works on has its limit as the knee", () => {
    expect(computeKnee(probe(100, 6), 6)).toBe(6);
  });
});
