import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EMPTY_CURVE, isPastKnee, kneeOf, observeCurve, rescaleCurve, risesWithLoad } from "./curve.ts";

/** A curve seen at the given levels, 1,000 requests each. */
function seenAt(levels: readonly number[], serviceMs: (inFlight: number) => number) {
  return levels.reduce(
    (curve, inFlight) =>
      observeCurve(curve, { inFlight, serviceMs: serviceMs(inFlight), completed: 1_000, signals: {} }),
    EMPTY_CURVE,
  );
}

const from1to = (most: number) => {
  const levels: number[] = [];
  for (let level = 1; level <= most; level *= 1.15) levels.push(level);
  return levels;
};

describe("the knee", () => {
  it("of a CPU-bound model is its core count", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 64 }), fc.double({ min: 1, max: 1_000, noNaN: true }), (cores, workMs) => {
        const knee = kneeOf(seenAt(from1to(cores * 3), (n) => workMs * Math.max(1, n / cores)));
        expect(knee?.located).toBe(true);
        expect(Math.abs((knee?.inFlight ?? 0) / cores - 1)).toBeLessThan(0.15);
      }),
    );
  });

  it("of a batch that takes a + b n is a / b, where throughput is half of its limit and latency twice its least", () => {
    const knee = kneeOf(seenAt(from1to(100), (n) => 100 + 5 * n));
    expect(Math.abs((knee?.inFlight ?? 0) / 20 - 1)).toBeLessThan(0.15);
  });

  it("is not called located while nothing worse was seen above it", () => {
    expect(kneeOf(seenAt([1, 2, 4], () => 50))).toMatchObject({ located: false, worseFrom: null });
  });

  it("across a gap is where rising throughput meets what was seen beyond", () => {
    // 4 cores of 50 ms seen at 2 and 3, then at 16 in overload: 16 / 200 ms is the throughput of 4 at 50 ms.
    const knee = kneeOf(seenAt([2, 3, 16], (n) => 50 * Math.max(1, n / 4)));
    expect(knee?.located).toBe(false);
    expect(knee?.inFlight).toBeCloseTo(4, 5);
  });

  it("lies below what was seen where power falls from the lowest level on", () => {
    expect(kneeOf(seenAt([3, 4, 5], (n) => 50 * n))?.atLowest).toBe(true);
  });

  it("does not move when every request takes longer by the same factor", () => {
    const curve = seenAt(from1to(30), (n) => 50 * Math.max(1, n / 8));
    expect(kneeOf(rescaleCurve(curve, 3))?.inFlight).toBeCloseTo(kneeOf(curve)?.inFlight ?? 0, 6);
  });

  it("is blind to buckets with too few requests to be believed", () => {
    const good = seenAt([2, 4, 8], () => 50);
    const fluke = observeCurve(good, { inFlight: 16, serviceMs: 900, completed: 20, signals: {} });
    expect(kneeOf(fluke)).toEqual(kneeOf(good));
  });
});

describe("past the knee", () => {
  const curve = seenAt([1, 2, 3, 4], () => 50);

  it("is less power than fewer in flight had, beyond noise", () => {
    expect(isPastKnee(curve, 5, 62.5)).toBe(true);
    expect(isPastKnee(curve, 5, 51)).toBe(false);
  });
});

describe("a resource reading", () => {
  const withCpu = (low: number, high: number) =>
    [
      { inFlight: 2, cpu: low },
      { inFlight: 8, cpu: high },
    ].reduce(
      (curve, { inFlight, cpu }) =>
        observeCurve(curve, { inFlight, serviceMs: 50, completed: 1_000, signals: { cpu } }),
      EMPTY_CURVE,
    );

  it("counts only where it was clearly lower at half the load", () => {
    expect(risesWithLoad(withCpu(0.3, 0.99), 8, "cpu", 0.99)).toBe(true);
    // Preallocated, or full at any batch: it says nothing of this load.
    expect(risesWithLoad(withCpu(0.98, 0.99), 8, "cpu", 0.99)).toBe(false);
    expect(risesWithLoad(withCpu(0.3, 0.99), 3, "cpu", 0.99)).toBe(false);
  });
});
