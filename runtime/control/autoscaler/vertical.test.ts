import { describe, expect, it } from "vitest";
import { autoscalerWorld } from "../../../test/support/autoscaler-world.ts";
import { EMPTY_CURVE, observeCurve } from "./curve.ts";
import { initLearning, type Learning, type Sample } from "./learning.ts";
import { learnTarget, startTarget } from "./vertical.ts";
import type { World } from "./world.ts";

function worldOf(change: Partial<World> = {}, probedConcurrency: number | null = null): World {
  return autoscalerWorld(change, { probedConcurrency });
}

/** Six samples of 5 s up to second 60, all alike, and a curve that has seen `levels`, by default up to 10 at 50 ms. */
function learningAt(
  target: number,
  inFlight: number,
  serviceMs: number,
  change: Partial<Learning> = {},
  levels: readonly (readonly [inFlight: number, serviceMs: number])[] = [1, 2, 3, 4, 6, 8, 10].map((n) => [n, 50]),
): Learning {
  const samples = Array.from(
    { length: 6 },
    (_, index): Sample => ({ atMs: 35_000 + index * 5_000, inFlight, serviceMs, completed: 500, signals: {} }),
  );
  const curve = levels
    .map(([level, ms]) => ({ inFlight: level, serviceMs: ms, completed: 500, signals: {} }))
    .reduce(observeCurve, EMPTY_CURVE);
  const base = { ...initLearning(null), target, doubling: false, cycleAtMs: 30_000, curve, samples };
  return { ...base, ...change };
}

const learn = (learning: Learning, world = worldOf()) => learnTarget(world, learning, false, 60_000);

describe("the first target", () => {
  it("is the predecessor's, else the probe's but at least 4, else 4; and never above what the model demands", () => {
    const fresh = initLearning(null);
    expect(startTarget(worldOf({ predecessorTarget: 37 }, 9), fresh)).toMatchObject({ target: 37, doubling: false });
    expect(startTarget(worldOf({}, 9), fresh)).toMatchObject({ target: 9, source: "probe", doubling: true });
    // A probe on a busy machine finds its knee too early, and replicas that may hold one request are starved.
    expect(startTarget(worldOf({}, 1), fresh)).toMatchObject({ target: 4, source: "probe" });
    expect(startTarget(worldOf(), fresh)).toMatchObject({ target: 4, source: "default", doubling: true });
    expect(startTarget(worldOf({ maxInFlight: 1 }), fresh).target).toBe(1);
  });
});

describe("a cycle", () => {
  it("raises by max(1, 10 %) where in flight is at least 0.7 of the target and nothing is over", () => {
    expect(learn(learningAt(10, 8, 50)).target).toBe(11);
    expect(learn(learningAt(40, 36, 51)).target).toBe(44);
  });

  it("doubles in onboarding, and looks for the knee by wide steps until it holds it", () => {
    expect(learn(learningAt(10, 8, 50, { doubling: true }))).toMatchObject({ target: 20, doubling: true });
    // Ten cores: 20 in flight took twice as long as ten.
    const seen = [
      [5, 50],
      [10, 50],
      [20, 100],
    ] as const;
    expect(learn(learningAt(20, 20, 100, { doubling: true }, seen))).toMatchObject({ target: 14, doubling: true });
    const found = [...seen, [11, 55], [14, 70]] as const;
    expect(learn(learningAt(10, 10, 50, { doubling: true }, found))).toMatchObject({ target: 10, doubling: false });
    // A neighbour's burst took it down to 3: it does not climb back by one request each 30 s.
    const early = { ...learningAt(3, 3, 50, { doubling: true }, found), cycleAtMs: 45_000 };
    expect(learn(early)).toMatchObject({ target: 6, reason: "raise: doubling" });
  });

  it("ends onboarding's cycle as soon as three samples are in, and no other", () => {
    const early = { ...learningAt(10, 8, 50), cycleAtMs: 55_000 };
    expect(learn({ ...early, doubling: true }).target).toBe(20);
    expect(learn(early)).toBe(early);
  });

  it("goes to a knee that the curve foretells instead of doubling past it, and a little past it to see it", () => {
    // A batch of 100 + 10 n ms: its knee is at 10.
    const seen = [
      [2, 120],
      [4, 140],
      [6, 160],
      [8, 180],
    ] as const;
    expect(learn(learningAt(8, 8, 180, { doubling: true }, seen))).toMatchObject({ target: 10, doubling: true });
    expect(learn(learningAt(10, 9, 190, { doubling: true }, seen)).target).toBe(11);
  });

  it("takes a doubled target back to what load filled, once it was not filled for 90 s", () => {
    const doubled = { from: 16, atMs: 0 };
    const unfilled = (atMs: number) =>
      learnTarget(worldOf(), { ...learningAt(32, 17, 50, { doubled }), cycleAtMs: atMs - 30_000 }, false, atMs);
    expect(unfilled(60_000)).toMatchObject({ target: 32, reason: "hold: not-limiting" });
    expect(unfilled(90_000)).toMatchObject({ target: 17, doubling: false, reason: "settle: as-filled" });
  });

  it("does not take concurrency for the limit where CPU is, unless the target is full all the same", () => {
    expect(learnTarget(worldOf(), learningAt(10, 9, 50), true, 60_000).reason).toBe("hold: not-limiting");
    expect(learnTarget(worldOf(), learningAt(10, 10, 50), true, 60_000).target).toBe(11);
  });

  it("holds where concurrency is not the limit", () => {
    expect(learn(learningAt(10, 6, 50))).toMatchObject({ target: 10, reason: "hold: not-limiting" });
  });

  it("lowers by at most 30 % where one more in flight buys no throughput", () => {
    // Ten cores of 50 ms: 40 in flight take four times as long, and the knee at 10 is three steps of 30 % away.
    const seen = [
      [5, 50],
      [10, 50],
      [12, 60],
      [20, 100],
      [40, 200],
    ] as const;
    expect(learn(learningAt(40, 40, 200, {}, seen))).toMatchObject({ target: 28, reason: "lower: above-knee" });
    expect(learn(learningAt(12, 12, 60, {}, seen))).toMatchObject({ target: 10, reason: "lower: above-knee" });
    expect(learn(learningAt(10, 10, 50, {}, seen))).toMatchObject({ target: 10 });
  });

  it("is not moved by a sudden spike: a metric must be over for most of the window", () => {
    const calm = learningAt(10, 8, 50);
    const spiked = {
      ...calm,
      samples: calm.samples.map((sample, i) => (i < 2 ? { ...sample, serviceMs: 300 } : sample)),
    };
    expect(learn(spiked).target).toBe(11);
    const resource = calm.samples.map((sample, i) => ({ ...sample, signals: { memory: i < 2 ? 0.97 : 0.5 } }));
    expect(learn({ ...calm, samples: resource }).target).toBe(11);
  });

  it("counts a resource only where it rises with in flight", () => {
    const calm = learningAt(10, 8, 50);
    const full = calm.samples.map((sample) => ({ ...sample, signals: { memory: 0.97 } }));
    const preallocated = observeCurve(calm.curve, {
      inFlight: 2,
      serviceMs: 50,
      completed: 500,
      signals: { memory: 0.96 },
    });
    const growing = observeCurve(calm.curve, { inFlight: 2, serviceMs: 50, completed: 500, signals: { memory: 0.3 } });
    expect(learn({ ...calm, samples: full, curve: preallocated }).target).toBe(11);
    const lowered = learn({ ...calm, samples: full, curve: growing });
    // 8 in flight use 0.97 of memory: 7.4 of them use the 0.9 that they may.
    expect(lowered).toMatchObject({ target: 7, reason: "lower: memory" });
    // What a resource did not bear is not tried again at once.
    const again = { ...learningAt(7, 7, 50), ceiling: lowered.ceiling };
    expect(learn(again)).toMatchObject({ target: 7, reason: "hold: at-cap" });
  });

  it("holds a target that a resource bears, where a replica held more than it for a while", () => {
    const calm = learningAt(10, 11, 50);
    const full = calm.samples.map((sample) => ({ ...sample, signals: { memory: 0.97 } }));
    const growing = observeCurve(calm.curve, { inFlight: 2, serviceMs: 50, completed: 500, signals: { memory: 0.3 } });
    // 11 use 0.97 and 10.2 would use 0.9: the target of 10 fits, and is not raised past what fits.
    const held = learn({ ...calm, samples: full, curve: growing });
    expect(held).toMatchObject({ target: 10, ceiling: { target: 10 }, reason: "hold: memory" });
  });

  it("looks between two levels where a sharp knee may lie, and stays once it has seen little lower and little higher", () => {
    // Memory for 56: 45 in flight are as fast as 32, and 64 half as slow again.
    const level = (n: number) => [n, 100 * Math.max(1, (n / 56) ** 3)] as const;
    const raised = learn(learningAt(45, 45, 100, {}, [16, 32, 45, 64].map(level)));
    expect(raised.target).toBeGreaterThan(45);
    expect(raised.target).toBeLessThan(56);
    const seen = [16, 32, 45, 50, 56, 66].map(level);
    expect(learn(learningAt(55, 55, 100, {}, seen))).toMatchObject({ target: 55, reason: "hold: at-knee" });
  });

  it("follows a workload whose requests grew without taking it for overload, and widens its next steps", () => {
    const heavier = learn(learningAt(10, 8, 100));
    expect(heavier).toMatchObject({ target: 10, reason: "learn: shape-moved", wideCycles: 3 });
  });

  it("says nothing on too little load, or before its 30 s are over", () => {
    const few = learningAt(10, 8, 50);
    const sparse = { ...few, samples: few.samples.map((sample) => ({ ...sample, completed: 2 })) };
    expect(learn(sparse)).toMatchObject({ target: 10, reason: "learn: too-little-load" });
    expect(learnTarget(worldOf(), few, false, 59_999)).toBe(few);
  });

  it("never goes above what the model demands nor under 1", () => {
    expect(learn(learningAt(8, 8, 50), worldOf({ maxInFlight: 8 })).target).toBe(8);
    expect(learn(learningAt(1, 1, 500)).target).toBe(1);
  });
});
