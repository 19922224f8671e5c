import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ewma } from "./ewma.ts";
import { bucketOf, histogramQuantile } from "./histogram.ts";
import { emptySlidingMax, maxOf, pushMax } from "./sliding-max.ts";
import { addSpan, emptySpanSums, meanPerMs, type SpanSums } from "./span-sums.ts";

interface Span {
  readonly fromMs: number;
  readonly lengthMs: number;
  readonly amount: number;
}

/** Slow reference: every span kept, each millisecond of the window looked at. */
function slowMean(spans: readonly Span[], endMs: number, spanMs: number): number | null {
  const firstMs = Math.min(...spans.map((span) => span.fromMs));
  const fromMs = Math.max(firstMs, endMs - spanMs);
  let sum = 0;
  for (let ms = fromMs; ms < endMs; ms++) {
    for (const span of spans) {
      if (ms >= span.fromMs && ms < span.fromMs + span.lengthMs) sum += span.amount / span.lengthMs;
    }
  }
  return endMs > fromMs ? sum / (endMs - fromMs) : null;
}

function addAll(spans: readonly Span[]): SpanSums {
  return spans.reduce(
    (sums, span) => addSpan(sums, span.fromMs, span.fromMs + span.lengthMs, span.amount),
    emptySpanSums(10, 100),
  );
}

const span = fc.record({
  fromMs: fc.integer({ min: 0, max: 300 }),
  lengthMs: fc.integer({ min: 1, max: 80 }),
  amount: fc.integer({ min: 0, max: 1_000 }),
});

describe("span sums", () => {
  it("equal the slow mean over any window whose ends fall on bucket edges, in whatever order spans come", () => {
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 40 }), (raw, windows) => {
        // Edges on the bucket grid: inside a bucket the ring knows only its sum.
        const spans = raw.map((each) => ({ ...each, fromMs: each.fromMs - (each.fromMs % 10) }));
        const endMs = Math.ceil(Math.max(...spans.map((each) => each.fromMs + each.lengthMs)) / 10) * 10;
        const expected = slowMean(spans, endMs, windows * 10);
        const forward = meanPerMs(addAll(spans), endMs, windows * 10);
        const backward = meanPerMs(addAll(spans.toReversed()), endMs, windows * 10);
        expect(forward).toBeCloseTo(expected ?? Number.NaN, 6);
        expect(backward).toBeCloseTo(expected ?? Number.NaN, 6);
      }),
    );
  });

  it("divide by what was observed, so that a new service is not dragged down by the time before it", () => {
    // 30 requests over the 3 s since it began: 10 a second, though the window is 20 s long.
    const sums = addSpan(emptySpanSums(1_000, 25), 7_000, 10_000, 30);
    expect(meanPerMs(sums, 10_000, 20_000)).toBeCloseTo(0.01, 9);
  });

  it("say null, not zero, before anything was observed", () => {
    expect(meanPerMs(emptySpanSums(1_000, 25), 10_000, 20_000)).toBeNull();
  });

  it("forget what is older than the ring and take a late span into the past it belongs to", () => {
    const early = addSpan(emptySpanSums(1_000, 3), 0, 1_000, 100);
    const later = addSpan(early, 4_000, 5_000, 10);
    // Buckets 2 to 4 remain: the first span has left the ring.
    expect(meanPerMs(later, 5_000, 10_000)).toBeCloseTo(10 / 3_000, 9);
    const late = addSpan(later, 3_000, 4_000, 20);
    expect(meanPerMs(late, 5_000, 2_000)).toBeCloseTo(30 / 2_000, 9);
  });
});

describe("sliding maximum", () => {
  it("equals the slow maximum over the span", () => {
    const step = fc.record({ gapMs: fc.integer({ min: 0, max: 50 }), value: fc.integer({ min: 0, max: 20 }) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        let window = emptySlidingMax(100);
        const seen: { atMs: number; value: number }[] = [];
        let atMs = 0;
        for (const { gapMs, value } of steps) {
          atMs += gapMs;
          seen.push({ atMs, value });
          window = pushMax(window, atMs, value);
          const inside = seen.filter((entry) => entry.atMs > atMs - 100).map((entry) => entry.value);
          expect(maxOf(window)).toBe(Math.max(...inside));
        }
      }),
    );
  });

  it("is null when empty", () => {
    expect(maxOf(emptySlidingMax(100))).toBeNull();
  });
});

/** Slow reference: the bucket found by looking at every edge. */
function slowBucket(edges: readonly number[], value: number): number {
  const found = edges.findIndex((edge) => value <= edge);
  return found === -1 ? edges.length : found;
}

/** Slow reference: the value of rank ceil(q n) among all values, sorted. */
function slowQuantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(q * values.length) - 1]!;
}

describe("histogram", () => {
  const edges = [1, 2, 4, 8, 16];

  it("puts a value where the slow search does, edges among them", () => {
    const anyEdges = fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { maxLength: 12 });
    fc.assert(
      fc.property(anyEdges, fc.integer({ min: -1, max: 51 }), (raw, value) => {
        const sorted = raw.toSorted((a, b) => a - b);
        expect(bucketOf(sorted, value)).toBe(slowBucket(sorted, value));
      }),
    );
  });

  it("reads a quantile within the bucket of the exact one", () => {
    const values = fc.array(fc.double({ min: 0.01, max: 15.9, noNaN: true }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(values, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, q) => {
        const counts = [...edges.map(() => 0), 0];
        for (const value of all) counts[slowBucket(edges, value)]!++;
        const exact = slowQuantile(all, q);
        const read = histogramQuantile(edges, counts, q)!;
        expect(slowBucket(edges, read)).toBe(slowBucket(edges, exact));
      }),
    );
  });

  it("has no quantile when empty, and reads values above every edge as the last edge", () => {
    expect(histogramQuantile(edges, [0, 0, 0, 0, 0, 0], 0.5)).toBeNull();
    expect(histogramQuantile(edges, [0, 0, 0, 0, 0, 7], 0.99)).toBe(16);
  });
});

/**
 * Slow reference: each sample stands for the time since the one before it and weighs by its age, halving each half-life;
 * the first stands for all the time before.
 */
function slowEwma(samples: readonly { readonly value: number; readonly gapMs: number }[], halfLifeMs: number): number {
  let ageMs = 0;
  let mean = 0;
  for (const [index, { value, gapMs }] of [...samples.entries()].toReversed()) {
    const older = index === 0 ? 0 : 0.5 ** ((ageMs + gapMs) / halfLifeMs);
    mean += value * (0.5 ** (ageMs / halfLifeMs) - older);
    ageMs += gapMs;
  }
  return mean;
}

describe("ewma", () => {
  it("equals the slow weighted mean over all samples, whatever their spacing", () => {
    const sample = fc.record({ value: fc.integer({ min: 0, max: 1_000 }), gapMs: fc.integer({ min: 0, max: 5_000 }) });
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 30 }), (samples) => {
        const fast = samples.reduce<number | null>((mean, { value, gapMs }) => ewma(mean, value, gapMs, 1_000), null);
        expect(fast).toBeCloseTo(slowEwma(samples, 1_000), 6);
      }),
    );
  });

  it("is half way to a new level after one half-life, in one step or in many", () => {
    expect(ewma(0, 10, 1_000, 1_000)).toBeCloseTo(5, 9);
    let value = 0;
    for (let step = 0; step < 10; step++) value = ewma(value, 10, 100, 1_000);
    expect(value).toBeCloseTo(5, 9);
  });

  it("takes the first sample as it is", () => {
    expect(ewma(null, 7, 0, 1_000)).toBe(7);
  });
});
