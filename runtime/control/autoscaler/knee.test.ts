import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Curve } from "./curve.ts";
import { EMPTY_CURVE, observeCurve, rescaleCurve } from "./curve.ts";
import { kneeOf as kneeSeen } from "./knee.ts";

/** The knee of models whose service times lie far above what lies on the way to them. */
const kneeOf = (curve: Curve) => kneeSeen(curve, 0, null);

/** A curve seen at the given levels, 1,000 requests each. */
function seenAt(levels: readonly number[], serviceMs: (inFlight: number) => number) {
  return levels.reduce(
    (curve, inFlight) =>
      observeCurve(curve, { inFlight, serviceMs: serviceMs(inFlight), completed: 1_000, signals: {} }),
    EMPTY_CURVE,
  );
}

const upTo = (most: number) => {
  const levels: number[] = [];
  for (let level = 1; level <= most; level *= 1.15) levels.push(level);
  return levels;
};

/** Slow reference: the whole number in flight with the most throughput over latency. */
function mostPower(serviceMs: (inFlight: number) => number): number {
  let best = 1;
  for (let n = 2; n <= 2_000; n++) if (n / serviceMs(n) ** 2 > best / serviceMs(best) ** 2) best = n;
  return best;
}

describe("the knee", () => {
  it("of a CPU-bound model is its core count", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 64 }), fc.double({ min: 1, max: 1_000, noNaN: true }), (cores, workMs) => {
        const knee = kneeOf(seenAt(upTo(cores * 3), (n) => workMs * Math.max(1, n / cores)));
        expect(knee?.located).toBe(true);
        expect(Math.abs((knee?.inFlight ?? 0) / cores - 1)).toBeLessThan(0.1);
      }),
      { numRuns: 30 },
    );
  });

  it("of a batch that takes a + b n is a / b, and is foretold from loads well below it", () => {
    const batch = (n: number) => 100 + 5 * n;
    expect(kneeOf(seenAt(upTo(60), batch))?.inFlight).toBe(20);
    const foretold = kneeOf(seenAt([4, 5, 6, 8, 10], batch));
    expect(foretold).toMatchObject({ located: false });
    expect(foretold?.inFlight).toBe(20);
  });

  it("of a batch whose next run waits for the last is seen past the step from one request to two", () => {
    // Two in flight take 200 + 10 n: the last run and their own. One alone takes half: its run is the only one.
    const inTurn = (n: number) => (n < 1.5 ? 100 + 10 * n : 200 + 10 * n);
    const knee = kneeOf(seenAt([1, 2, 4, 8, 16, 32], inTurn));
    expect(knee).toMatchObject({ inFlight: 20, located: true });
    // Where one alone has the most power of all, as at a few per batch, it is what counts.
    expect(kneeOf(seenAt([1, 2, 3, 4, 6], (n) => (n < 1.5 ? 100 : 200 + 100 * n)))?.inFlight).toBe(1);
  });

  it("may lie below what was seen where one request alone is known to have more power", () => {
    // Batches in turn of 100 + 30 n: 4 to 8 in flight have their best at 7, with 7 / 410^2 against 1 / 130^2 for one alone.
    const seen = seenAt([4, 5, 6, 8, 9], (n) => 200 + 30 * n);
    expect(kneeSeen(seen, 0, null)?.lowest).toBe(false);
    expect(kneeSeen(seen, 0, 130)?.lowest).toBe(true);
    // Once it was seen, what it takes under load counts, and not what an example took.
    const lone = observeCurve(seen, { inFlight: 1, serviceMs: 300, completed: 1_000, signals: {} });
    expect(kneeSeen(lone, 0, 130)?.lowest).toBe(false);
  });

  it("of a model far faster than the way to it is where its throughput is, and not one in flight", () => {
    // 0.02 + 0.02 n ms: power by service time alone is best at one in flight, with half of the throughput.
    const fast = seenAt(upTo(64), (n) => 0.02 + 0.02 * n);
    expect(kneeSeen(fast, 0, null)?.inFlight).toBe(1);
    // n / (S (S + 1)) is best at sqrt(0.02 x 1.02) / 0.02 = 7.1, with seven eighths of it.
    expect(kneeSeen(fast, 1, null)?.inFlight).toBe(7);
  });

  it("is told from both sides only when a level little lower and one little higher were seen", () => {
    const cores = (n: number) => 100 * Math.max(1, n / 40);
    expect(kneeOf(seenAt([8, 16, 40, 48, 80], cores))).toMatchObject({ seenBelow: true, seenAbove: true });
    expect(kneeOf(seenAt([8, 16, 38, 80], cores))).toMatchObject({ seenBelow: true, seenAbove: false });
    expect(kneeOf(seenAt([8, 16, 50, 60], cores))).toMatchObject({ seenBelow: false, seenAbove: true });
  });

  it("of one server with a queue, where n in flight take 1 + n times as long, is one", () => {
    expect(kneeOf(seenAt(upTo(6), (n) => 200 * (1 + n)))?.inFlight).toBeCloseTo(1, 1);
  });

  it("of a model whose memory holds six, and that falls as n^-2 beyond, is six", () => {
    const knee = kneeOf(seenAt(upTo(12), (n) => 200 * Math.max(1, (n / 6) ** 3)));
    expect(Math.abs((knee?.inFlight ?? 0) / 6 - 1)).toBeLessThan(0.08);
  });

  it("has nearly the power of the best level under the universal scalability law, whatever its coefficients", () => {
    const cases = fc.record({
      contention: fc.double({ min: 0.005, max: 0.3, noNaN: true }),
      coherency: fc.double({ min: 0.00001, max: 0.01, noNaN: true }),
    });
    fc.assert(
      fc.property(cases, ({ contention, coherency }) => {
        // Gunther's law: C(n) = n / (1 + a (n - 1) + b n (n - 1)).
        const serviceMs = (n: number) => 50 * (1 + contention * (n - 1) + coherency * n * (n - 1));
        const best = mostPower(serviceMs);
        const knee = kneeOf(seenAt(upTo(best * 2.5), serviceMs))?.inFlight ?? 1;
        const found = Math.max(1, Math.round(knee));
        // Power is throughput over latency: within 5 % of the best in it, neither is far off.
        expect(found / serviceMs(found) ** 2).toBeGreaterThan(0.95 * (best / serviceMs(best) ** 2));
      }),
      { numRuns: 60 },
    );
  });

  it("is not told while service time has not risen, or from one level", () => {
    expect(kneeOf(seenAt([1, 2, 4], () => 50))).toBeNull();
    expect(kneeOf(seenAt([4], () => 50))).toBeNull();
  });

  it("lies at or below what was seen where throughput was level from there on", () => {
    const knee = kneeOf(seenAt([3, 4, 5], (n) => 50 * n));
    expect(knee).toMatchObject({ located: true, lowest: true });
    expect(knee?.inFlight).toBeLessThanOrEqual(3);
  });

  it("does not move when every request takes longer by the same factor", () => {
    const curve = seenAt(upTo(30), (n) => 50 * Math.max(1, n / 8));
    expect(kneeOf(rescaleCurve(curve, 3))?.inFlight).toBe(kneeOf(curve)?.inFlight);
  });

  it("is blind to buckets with too few requests to be believed", () => {
    const good = seenAt([2, 4, 8], (n) => 50 + n * 10);
    const fluke = observeCurve(good, { inFlight: 16, serviceMs: 900, completed: 20, signals: {} });
    expect(JSON.stringify(kneeOf(fluke))).toBe(JSON.stringify(kneeOf(good)));
  });
});
