import fc from "fast-check";
import { expect, test } from "vitest";
import { LATENCY_EDGES_MS } from "../../domain/load.ts";
import { latencyBucket } from "./counters.ts";

/** The slow reference: the first edge that is not below. */
function slowBucket(ms: number): number {
  const index = LATENCY_EDGES_MS.findIndex((edge) => ms <= edge);
  return index < 0 ? LATENCY_EDGES_MS.length : index;
}

test("the bucket of a latency is the one that a search over the edges finds", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (ms) => {
      expect(latencyBucket(ms)).toBe(slowBucket(ms));
    }),
    { numRuns: 2_000 },
  );
});

test("each edge belongs to the bucket below it, and the next number above it to the bucket above", () => {
  for (const [index, edge] of LATENCY_EDGES_MS.entries()) {
    expect(latencyBucket(edge)).toBe(index);
    expect(latencyBucket(edge * (1 + Number.EPSILON))).toBe(index + 1);
  }
});
