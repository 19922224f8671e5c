import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bestTarget, errorOf, type Level, levelsBeside, nextLevel, powerOf } from "./best-fixed.ts";

type ServiceMs = (inFlight: number) => number;

const levelOf = (serviceMs: ServiceMs, target: number): Level => ({
  target,
  perSecond: (target / serviceMs(target)) * 1_000,
});

/** Sweeps as the bench does. */
function sweep(serviceMs: ServiceMs): readonly Level[] {
  const levels: Level[] = [];
  for (let target = nextLevel(levels); target !== null; target = nextLevel(levels)) {
    levels.push(levelOf(serviceMs, target));
  }
  const beside = levelsBeside(levels).map((target) => levelOf(serviceMs, target));
  return [...levels, ...beside].toSorted((a, b) => a.target - b.target);
}

describe("a sweep", () => {
  it("goes up by half steps of two, doubles while nothing waits, and ends three levels past the best", () => {
    // Five cores: 8 in flight wait. Power falls as 1 / n past 5: 11 and up have under 0.6 of it. 3 and 5 lie beside 4.
    const levels = sweep((n) => 100 * Math.max(1, n / 5)).map(({ target }) => target);
    expect(levels).toEqual([1, 2, 3, 4, 5, 8, 11, 16, 23]);
  });

  it("goes on past a batch's first loss of power, when two wait for one run", () => {
    // Batches in turn: 100 ms alone, 200 + 2 n from two on, so that power falls to a half and is best at 100.
    const levels = sweep((n) => (n < 2 ? 100 : 200 + 2 * n));
    expect(levels.at(-1)!.target).toBeGreaterThan(100);
    expect(bestTarget(levels)).toBeGreaterThan(70);
  });

  it("is bounded for a service that never fills", () => {
    expect(sweep(() => 1_000).at(-1)!.target).toBe(2_048);
  });
});

describe("the best fixed target", () => {
  it("is the middle of a flat top: a batch that takes a + b n is as good from 0.52 to 1.93 of a / b", () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 200 }), (knee) => {
        const levels = sweep((n) => 1_000 * (1 + n / knee));
        // Levels are half steps of two apart: the middle of two ends is off by no more than one of them.
        expect(bestTarget(levels) / knee).toBeGreaterThan(1 / Math.SQRT2);
        expect(bestTarget(levels) / knee).toBeLessThan(Math.SQRT2);
      }),
    );
  });

  it("has nearly the most power of all targets, whatever the cores", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (cores) => {
        const serviceMs = (n: number) => 100 * Math.max(1, n / cores);
        const best = levelOf(serviceMs, bestTarget(sweep(serviceMs)));
        // A level lies within an eighth of a step of two of the cores: 0.91. Whole numbers of few cores are all seen.
        expect(powerOf(best) / powerOf(levelOf(serviceMs, cores))).toBeGreaterThan(0.85);
      }),
    );
  });

  it("of a model far faster than the way to it keeps its throughput", () => {
    const best = bestTarget(sweep((n) => 0.02 + 0.02 * n));
    expect(best).toBeGreaterThanOrEqual(4);
    expect(best).toBeLessThanOrEqual(16);
  });
});

describe("the error of a target", () => {
  const best = { target: 10, perSecond: 100, p99Ms: 99 };

  it("is the larger of throughput lost and p99 gained, as a client sees it", () => {
    expect(errorOf({ target: 8, perSecond: 80, p99Ms: 99 }, best)).toBeCloseTo(0.2, 9);
    // 119 + 1 ms against 99 + 1.
    expect(errorOf({ target: 12, perSecond: 95, p99Ms: 119 }, best)).toBeCloseTo(0.2, 9);
  });

  it("is none where a target is better in both", () => {
    expect(errorOf({ target: 11, perSecond: 110, p99Ms: 90 }, best)).toBe(0);
  });
});
