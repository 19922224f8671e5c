import fc from "fast-check";
import { expect, it } from "vitest";
import { type Claim, planGrants } from "./plan.ts";

const GiB = 2 ** 30;
const claimOf = (id: string, change: Partial<Claim>): Claim => ({
  id,
  memoryBytes: GiB,
  cpuCount: 1,
  guaranteed: 0,
  wanted: 0,
  held: 0,
  leaving: 0,
  ...change,
});
const roomFor = (replicas: number) => ({
  memoryBytes: replicas * GiB,
  cpuCount: 1_000,
  growthBytes: replicas * GiB,
});
const grants = (claims: readonly Claim[], replicas: number) =>
  Object.fromEntries(planGrants(claims, roomFor(replicas)));

it("grants what is wanted where it fits", () => {
  expect(grants([claimOf("a", { wanted: 3 }), claimOf("b", { wanted: 2 })], 5)).toEqual({ a: 3, b: 2 });
});

it("gives guarantees first and then equal shares, so that a large claim can't starve a small one", () => {
  const claims = [
    claimOf("a", { wanted: 100 }),
    claimOf("b", { wanted: 2 }),
    claimOf("c", { wanted: 5, guaranteed: 5 }),
  ];
  // Ten fit: c's guarantee takes 5, b and a share the rest evenly until b has its 2.
  expect(grants(claims, 10)).toEqual({ a: 3, b: 2, c: 5 });
});

it("raises one version only as another's replicas really go", () => {
  const claims = [claimOf("a", { wanted: 4, held: 0 }), claimOf("b", { wanted: 1, held: 4 })];
  expect(grants(claims, 5)).toEqual({ a: 1, b: 1 });
  expect(grants([claimOf("a", { wanted: 4, held: 1 }), claimOf("b", { wanted: 1, held: 1, leaving: 2 })], 5)).toEqual({
    a: 2,
    b: 1,
  });
});

it("raises no version into cores that another still holds", () => {
  const claims = [
    claimOf("a", { wanted: 4, cpuCount: 2 }),
    claimOf("b", { wanted: 0, held: 1, leaving: 1, cpuCount: 3 }),
  ];
  // Of ten cores b's two replicas hold six: two of a's fit beside them.
  expect(Object.fromEntries(planGrants(claims, { ...roomFor(100), cpuCount: 10 }))).toEqual({ a: 2, b: 0 });
});

it("bounds growth by the memory that is free now, and takes nothing away for it", () => {
  const claims = [claimOf("a", { wanted: 4, held: 2 })];
  expect(Object.fromEntries(planGrants(claims, { ...roomFor(10), growthBytes: 0 }))).toEqual({ a: 2 });
});

const claims = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom("a", "b", "c", "d", "e"),
    memoryBytes: fc.integer({ min: 1, max: 4 }),
    cpuCount: fc.integer({ min: 0, max: 3 }),
    guaranteed: fc.nat(3),
    wanted: fc.nat(8),
    held: fc.nat(4),
    leaving: fc.nat(2),
  }),
  { selector: (claim) => claim.id },
);
const budgets = fc.record({ memoryBytes: fc.nat(40), cpuCount: fc.nat(30), growthBytes: fc.nat(40) });

it("never grants more than wanted, never more than fits beside what is still held, whatever the order of claims", () => {
  fc.assert(
    fc.property(claims, budgets, (drawn, budget) => {
      const fair = drawn.map((claim) => ({ ...claim, wanted: Math.max(claim.wanted, claim.guaranteed) }));
      const granted = planGrants(fair, budget);
      const sum = (take: (claim: Claim) => number) => fair.reduce((total, claim) => total + take(claim), 0);
      const peakOf = (claim: Claim) => Math.max(claim.held, granted.get(claim.id) ?? 0) + claim.leaving;
      const heldBytes = sum((claim) => (claim.held + claim.leaving) * claim.memoryBytes);
      expect(sum((claim) => (granted.get(claim.id) ?? 0) * claim.memoryBytes)).toBeLessThanOrEqual(budget.memoryBytes);
      // Where more is held than fits nothing grows; else even before anything has gone it all fits.
      expect(sum((claim) => peakOf(claim) * claim.memoryBytes)).toBeLessThanOrEqual(
        Math.max(heldBytes, budget.memoryBytes),
      );
      for (const claim of fair) expect(granted.get(claim.id)).toBeLessThanOrEqual(claim.wanted);
      expect([...planGrants(fair.toReversed(), budget)].sort()).toEqual([...granted].sort());
    }),
  );
});
