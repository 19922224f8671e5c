import { describe, expect, it } from "vitest";
import { EMPTY_CURVE, fadeCurve, observeCurve, pointAt, risesWithLoad, serviceMsOf } from "./curve.ts";

describe("a bucket of the curve", () => {
  const seen = (serviceMs: number, completed: number) => ({ inFlight: 4, serviceMs, completed, signals: {} });

  it("holds the exact mean of its requests, and fades the older ones past 30,000", () => {
    const two = observeCurve(observeCurve(EMPTY_CURVE, seen(50, 100)), seen(60, 300));
    expect(serviceMsOf(pointAt(two, 4)!)).toBeCloseTo(57.5, 9);
    // 60,000 are twice what is remembered, so the old 30,000 at 50 ms count half.
    const full = observeCurve(observeCurve(EMPTY_CURVE, seen(50, 30_000)), seen(60, 30_000));
    expect(serviceMsOf(pointAt(full, 4)!)).toBeCloseTo((50 * 15 + 60 * 30) / 45, 9);
  });

  it("takes a spike as half as slow again at most, so that one hardly moves it", () => {
    const spiked = observeCurve(observeCurve(EMPTY_CURVE, seen(50, 1_000)), seen(5_000, 100));
    expect(serviceMsOf(pointAt(spiked, 4)!)).toBeCloseTo((50 * 1_000 + 75 * 100) / 1_100, 9);
  });

  it("is no longer believed once time has faded it under 100 requests", () => {
    const curve = observeCurve(EMPTY_CURVE, seen(50, 190));
    expect(pointAt(fadeCurve(curve, 0.6), 4)).not.toBeNull();
    expect(pointAt(fadeCurve(curve, 0.5), 4)).toBeNull();
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
