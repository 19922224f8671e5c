import fc from "fast-check";
import { expect, test } from "vitest";
import { LATENCY_EDGES_MS } from "../../domain/load.ts";
import { bucketsWith } from "../testing/facts.ts";
import { quantileMs } from "./histogram.ts";

test("nothing counted has no quantile", () => {
  expect(quantileMs(bucketsWith([]), 0.99)).toBeNull();
});

test("a quantile differs from the exact one by at most the width of a bucket, 2^(1/2)", () => {
  const latencies = fc.array(fc.double({ min: 0.2, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(latencies, fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1), (values, q) => {
      const buckets = bucketsWith(values.map((ms) => ({ ms, count: 1 })));
      const exact = values.toSorted((a, b) => a - b)[Math.ceil(q * values.length) - 1] ?? Number.NaN;
      const read = quantileMs(buckets, q) ?? Number.NaN;
      expect(read / exact).toBeGreaterThan(2 ** -0.5 - 1e-9);
      // Readings below the first edge (0.25 ms) count as up to that edge.
      expect(read / Math.max(exact, 0.25)).toBeLessThan(2 ** 0.5 + 1e-9);
    }),
  );
});

test("above the last edge the quantile is that edge, about 49 minutes", () => {
  expect(quantileMs(bucketsWith([{ ms: 1e9, count: 1 }]), 0.5)).toBe(LATENCY_EDGES_MS.at(-1));
});
