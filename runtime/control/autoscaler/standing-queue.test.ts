import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Flow } from "./demand.ts";
import { addToQueue, initStandingQueue, judgeQueue, type StandingQueue, standingDemand } from "./standing-queue.ts";

const SERVING = { ready: 1, pending: 0, unavailable: 0, startupBudgetMs: 30_000 };

/** One second that ends at `second`: one in flight, ten answered, as many come unless said otherwise. */
function flowAt(second: number, queued: number, change: Partial<Flow> = {}): Flow {
  return {
    endMs: second * 1_000,
    spanMs: 1_000,
    arrivals: 10,
    completed: 10,
    turnedAway: 0,
    inFlightMs: 1_000,
    queuedMs: queued * 1_000,
    serviceMs: 1_000,
    ...change,
  };
}

/** Judges after each second of the given queues, the first of which ends at `from`. */
function watch(queues: readonly number[], change: Partial<Flow> = {}, supply = SERVING, before = initStandingQueue()) {
  const from = 1 + (before.queued.first + before.queued.amounts.length);
  return queues.reduce<StandingQueue>((queue, queued, index) => {
    const second = from + index;
    return judgeQueue(addToQueue(queue, flowAt(second, queued, change)), supply, second * 1_000);
  }, before);
}

const steady = (queued: number, seconds: number) => Array.from({ length: seconds }, () => queued);

describe("a standing queue", () => {
  it("counts in full with what is in flight once it stood for the fast window", () => {
    expect(watch(steady(9, 5)).standing).toBe(0);
    const stood = watch(steady(9, 6));
    expect(stood.standing).toBe(9);
    expect(standingDemand(stood, 6_000)).toBe(10);
  });

  it("is found whenever within a second the reports come, and however long after one another", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 900, max: 1_300 }), (fromMs, spanMs) => {
        let queue = initStandingQueue();
        for (let report = 1; report <= 12; report++) {
          const endMs = fromMs + report * spanMs;
          const flow = flowAt(0, 0, { endMs, spanMs, inFlightMs: spanMs, queuedMs: 9 * spanMs });
          queue = judgeQueue(addToQueue(queue, flow), SERVING, endMs);
        }
        expect(queue.standing).toBeCloseTo(9);
      }),
    );
  });

  it("is the least of its window", () => {
    // 50 answers in 5 s may move it by a quarter of sqrt(100), 2.5.
    expect(watch([9, 9, 7, 9, 9, 9, 9]).standing).toBe(7);
  });

  it("is none while it is worked off, grows, or is turned away at", () => {
    expect(watch([908, 907, 906, 905, 904, 903, 902, 901]).standing).toBe(0);
    expect(watch([10, 20, 30, 40, 50, 60, 70, 80]).standing).toBe(0);
    expect(watch(steady(900, 8), { arrivals: 20, turnedAway: 10 }).standing).toBe(0);
  });

  it("only shrinks while replicas are pending, and is none where nothing serves", () => {
    const stood = watch(steady(9, 6));
    const pending = { ...SERVING, pending: 8 };
    expect(watch(steady(20, 8), {}, pending, stood).standing).toBe(9);
    expect(watch([9, 5, 20], {}, pending, stood).standing).toBe(5);
    expect(watch([9], {}, { ...SERVING, ready: 0 }, stood).standing).toBe(0);
  });

  it("needs a whole window again after replicas were pending", () => {
    const started = watch(steady(20, 8), {}, { ...SERVING, pending: 1 });
    expect(watch(steady(20, 5), {}, SERVING, started).standing).toBe(0);
    expect(watch(steady(20, 6), {}, SERVING, started).standing).toBe(20);
  });
});
