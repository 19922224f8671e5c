import fc from "fast-check";
import { expect, test } from "vitest";
import { RetryBudget } from "./retry-budget.ts";

/** The slow reference keeps every event and counts those of the last ten whole seconds, the present one included. */
class SlowBudget {
  readonly arrivals: number[] = [];
  readonly retries: number[] = [];
  allows(nowMs: number): boolean {
    const recent = (times: number[]) =>
      times.filter((at) => Math.floor(at / 1_000) > Math.floor(nowMs / 1_000) - 10).length;
    return recent(this.retries) < Math.max(3, 0.2 * recent(this.arrivals));
  }
}

test("allows exactly what counting the last ten seconds allows", () => {
  const event = fc.record({ gapMs: fc.oneof(fc.nat(50), fc.nat(3_000), fc.nat(40_000)), arrivals: fc.nat(30) });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 80 }), (events) => {
      const fast = new RetryBudget();
      const slow = new SlowBudget();
      let nowMs = 5_000;
      for (const { gapMs, arrivals } of events) {
        nowMs += gapMs;
        for (let count = 0; count < arrivals; count++) {
          fast.arrived(nowMs);
          slow.arrivals.push(nowMs);
        }
        expect(fast.allows(nowMs)).toBe(slow.allows(nowMs));
        if (!fast.allows(nowMs)) continue;
        fast.spend(nowMs);
        slow.retries.push(nowMs);
      }
    }),
  );
});

test("a fifth of the arrivals may be sent again, and not one more", () => {
  const budget = new RetryBudget();
  for (let count = 0; count < 100; count++) budget.arrived(0);
  for (let count = 0; count < 20; count++) {
    expect(budget.allows(0)).toBe(true);
    budget.spend(0);
  }
  expect(budget.allows(0)).toBe(false);
});

test("forgets every second of a window that has passed whole, however long ago", () => {
  const budget = new RetryBudget();
  for (let second = 0; second < 10; second++) for (let n = 0; n < 100; n++) budget.arrived(second * 1_000);
  // At 25 s nothing of the seconds 0 to 9 is in the window; a fifth of any one that were left would allow a fourth.
  for (let n = 0; n < 3; n++) budget.spend(25_000);
  expect(budget.allows(25_000)).toBe(false);
});

test("three retries are allowed in a window without arrivals, and no fourth", () => {
  const budget = new RetryBudget();
  for (let count = 0; count < 3; count++) {
    expect(budget.allows(0)).toBe(true);
    budget.spend(0);
  }
  expect(budget.allows(0)).toBe(false);
  // The window is ten seconds: at 10,000 ms the second of the retries has left it.
  expect(budget.allows(9_999)).toBe(false);
  expect(budget.allows(10_000)).toBe(true);
});
