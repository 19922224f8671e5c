import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideHorizontal, type HorizontalInput, madeUpReplicas } from "./horizontal.ts";
import { hpaReplicas } from "./hpa-ratio.ts";
import { computeSupply } from "./supply.ts";

type Change = Partial<Omit<HorizontalInput, "demand" | "supply">> & {
  readonly demand?: Partial<HorizontalInput["demand"]>;
  readonly supply?: Partial<HorizontalInput["supply"]>;
};

/** Ten replicas of target 10 with 80 in flight, seen for an hour: nothing to do. */
function inputOf(change: Change = {}): HorizontalInput {
  const load = change.demand?.meanUp ?? 80;
  return {
    wanted: 10,
    anchor: 10,
    target: 10,
    wakeDemand: 0,
    bounds: { min: 0, max: 1_000 },
    cpuReplicas: 0,
    watchedMs: 3_600_000,
    idleMs: 0,
    sleepAfterMs: 120_000,
    maySleep: true,
    saturated: false,
    ...change,
    demand: {
      seen: "whole",
      meanUp: load,
      meanFast: load,
      peak: 95,
      standing: 0,
      inFlightNow: load,
      queuedNow: 0,
      ...change.demand,
    },
    supply: { ready: 10, pending: 0, unavailable: 0, startupBudgetMs: 30_000, ...change.supply },
  };
}

describe("the way up", () => {
  it("is closed within the tolerance and opens to ceil(demand / target) past it", () => {
    expect(decideHorizontal(inputOf({ demand: { meanUp: 109 } })).replicas).toBe(10);
    expect(decideHorizontal(inputOf({ demand: { meanUp: 111 } }))).toEqual({ replicas: 12, reason: "scale: up" });
  });

  it("takes the fast lane only when the fast window is over twice what is wanted", () => {
    const slow = inputOf({ demand: { meanUp: 90, meanFast: 199 } });
    expect(decideHorizontal(slow).replicas).toBe(10);
    const fast = inputOf({ demand: { meanUp: 90, meanFast: 201 } });
    expect(decideHorizontal(fast)).toEqual({ replicas: 21, reason: "scale: fast-lane" });
  });

  it("steps by at most 8 times what was wanted at the start of the period, however often it is asked", () => {
    const demand = { meanUp: 5_000, meanFast: 5_000 };
    expect(decideHorizontal(inputOf({ demand })).replicas).toBe(80);
    expect(decideHorizontal(inputOf({ demand, wanted: 80 })).replicas).toBe(80);
  });

  it("takes the largest of demand and CPU", () => {
    expect(decideHorizontal(inputOf({ cpuReplicas: 15 }))).toEqual({ replicas: 15, reason: "scale: cpu" });
  });
});

describe("the way down", () => {
  it("is checked at what remains: it must carry the peak with the tolerance to spare", () => {
    // 80 over 10 x 0.9 is 8.9: nine carry it with room, eight would not.
    expect(decideHorizontal(inputOf({ demand: { peak: 80 } })).replicas).toBe(9);
    expect(decideHorizontal(inputOf({ demand: { peak: 82 } })).replicas).toBe(10);
  });

  it("steps by at most 30 % of what was wanted at the start of the period", () => {
    const step = decideHorizontal(inputOf({ demand: { meanUp: 1, peak: 1 } }));
    expect(step).toEqual({ replicas: 7, reason: "scale: down-capped" });
  });

  it.each([
    ["hold: window-not-seen", { watchedMs: 299_999 }],
    ["hold: silent-router", { demand: { seen: "partial" as const, meanUp: 10, peak: 10 } }],
    ["hold: missing-load", { demand: { seen: "missing" as const, meanUp: 10, peak: 10 } }],
    ["hold: saturated", { saturated: true }],
    ["hold: step-taken", { wanted: 7 }],
  ])("waits: %s", (reason, change) => {
    const step = decideHorizontal(inputOf({ demand: { meanUp: 10, peak: 10 }, ...change }));
    expect(step).toEqual({ replicas: "wanted" in change ? 7 : 10, reason });
  });

  it("never opens the way up again at the same load", () => {
    const load = fc.double({ min: 0, max: 5_000, noNaN: true });
    fc.assert(
      fc.property(load, fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 500 }), (peak, target, wanted) => {
        const demand = { meanUp: peak, meanFast: peak, peak };
        const base = { target, demand };
        const step = decideHorizontal(inputOf({ ...base, wanted, anchor: wanted }));
        fc.pre(step.replicas < wanted && step.replicas > 0);
        const again = decideHorizontal(inputOf({ ...base, wanted: step.replicas, anchor: step.replicas }));
        expect(again.replicas).toBeLessThanOrEqual(step.replicas);
      }),
    );
  });
});

describe("zero", () => {
  const one = { wanted: 1, anchor: 1, demand: { meanUp: 0, meanFast: 0, peak: 0 }, supply: { ready: 1 } };

  it("is reached from one replica after the idle window only", () => {
    expect(decideHorizontal(inputOf({ ...one, idleMs: 119_999 })).replicas).toBe(1);
    expect(decideHorizontal(inputOf({ ...one, idleMs: 120_000 }))).toEqual({ replicas: 0, reason: "scale: sleep" });
  });

  it("waits as long as the endpoint's spec says, and for ever while the spec is missing", () => {
    expect(decideHorizontal(inputOf({ ...one, sleepAfterMs: 1_000, idleMs: 1_000 })).replicas).toBe(0);
    expect(decideHorizontal(inputOf({ ...one, sleepAfterMs: null, idleMs: 1_000_000 })).replicas).toBe(1);
  });

  it("is not reached before the first readiness, below the minimum, or half blind", () => {
    const idle = { ...one, idleMs: 1_000_000 };
    expect(decideHorizontal(inputOf({ ...idle, maySleep: false })).reason).toBe("hold: not-ready-yet");
    expect(decideHorizontal(inputOf({ ...idle, bounds: { min: 1, max: 9 } })).reason).toBe("hold: minimum");
    const partial = { ...one.demand, seen: "partial" as const };
    expect(decideHorizontal(inputOf({ ...idle, demand: partial })).replicas).toBe(1);
  });

  it("is left in one step for what waits", () => {
    const asleep = { wanted: 0, anchor: 0, demand: { meanUp: 0, meanFast: 0 }, supply: { ready: 0 } };
    expect(decideHorizontal(inputOf({ ...asleep, wakeDemand: 0 })).reason).toBe("hold: asleep");
    expect(decideHorizontal(inputOf({ ...asleep, wakeDemand: 1 })).replicas).toBe(1);
    expect(decideHorizontal(inputOf({ ...asleep, wakeDemand: 2_500 })).replicas).toBe(250);
  });

  it("is not left for what was answered before, though the windows still hold it", () => {
    const justAsleep = {
      wanted: 0,
      anchor: 0,
      demand: { meanUp: 1, meanFast: 2 },
      supply: { ready: 0 },
      wakeDemand: 1,
    };
    const sleepAfterMs = 1_000;
    expect(decideHorizontal(inputOf({ ...justAsleep, sleepAfterMs, idleMs: 1_000 })).reason).toBe("hold: asleep");
    expect(decideHorizontal(inputOf({ ...justAsleep, sleepAfterMs, idleMs: 999 })).reason).toBe("scale: wake");
  });
});

describe("bounds and what is lost", () => {
  it("hold whatever the demand", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.nat(50), fc.nat(50), (load, min, more) => {
        const bounds = { min, max: min + more };
        const { replicas } = decideHorizontal(
          inputOf({ bounds, demand: { meanUp: load, meanFast: load, peak: load } }),
        );
        expect(replicas).toBeGreaterThanOrEqual(bounds.min);
        expect(replicas).toBeLessThanOrEqual(bounds.max);
      }),
    );
  });

  it("what is neither supply nor pending is made up for, at most once over and within the maximum", () => {
    const step = { replicas: 10, reason: "" };
    expect(madeUpReplicas(step, inputOf({ supply: { unavailable: 3 } }))).toBe(3);
    expect(madeUpReplicas(step, inputOf({ supply: { unavailable: 30 } }))).toBe(10);
    expect(madeUpReplicas(step, inputOf({ supply: { unavailable: 3 }, bounds: { min: 0, max: 11 } }))).toBe(1);
    expect(madeUpReplicas(step, inputOf({ supply: { unavailable: 3, ready: 0 } }))).toBe(0);
  });
});

describe("the ratio law for other signals", () => {
  const base = { missing: 0, target: 0.5, current: 4, toleranceRatio: 0.1 };

  it("is ceil(count x mean / target) outside the tolerance", () => {
    expect(hpaReplicas({ ...base, readings: [1, 1, 1, 1] })).toBe(8);
    expect(hpaReplicas({ ...base, readings: [0.52, 0.52, 0.52, 0.52] })).toBe(4);
    expect(hpaReplicas({ ...base, readings: [0.1, 0.1, 0.1, 0.1] })).toBe(1);
  });

  it("counts missing readings as full on the way down and as empty on the way up", () => {
    // Two at 0.2, two full: 1.4 over 4 is 0.7 of the target, so 3 and not 2.
    expect(hpaReplicas({ ...base, readings: [0.2, 0.2], missing: 2 })).toBe(3);
    // Two at 1.5, two empty: 3 over 4 is 1.5 times the target, so 6 and not 12.
    expect(hpaReplicas({ ...base, readings: [1.5, 1.5], missing: 2 })).toBe(6);
  });

  it("holds where the correction flips the direction", () => {
    expect(hpaReplicas({ ...base, readings: [0.6, 0.6], missing: 2 })).toBe(4);
  });

  it("never moves against what the readings say", () => {
    const reading = fc.double({ min: 0, max: 3, noNaN: true });
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 20 }), fc.nat(20), (readings, missing) => {
        const current = readings.length + missing;
        const mean = readings.reduce((sum, each) => sum + each, 0) / readings.length;
        const replicas = hpaReplicas({ readings, missing, target: 1, current, toleranceRatio: 0.1 });
        if (mean > 1) expect(replicas).toBeGreaterThanOrEqual(current);
        else expect(replicas).toBeLessThanOrEqual(current);
      }),
    );
  });
});

describe("supply", () => {
  const replicas = {
    asked: 3,
    ready: 1,
    startingSinceMs: [0, 50_000],
    broken: 0,
    heardAtMs: [60_000],
    startupMs: null,
    probedConcurrency: null,
    warmupServiceMs: null,
    meters: [],
  };

  it("counts a starting replica as pending until its budget of three measured starts ends", () => {
    const now = { monoMs: 60_000, wallMs: 60_000 };
    // 15 s measured: 45 s of budget; one has started 60 s ago, the other 10 s.
    expect(computeSupply(replicas, 15_000, now)).toMatchObject({ ready: 1, pending: 1, unavailable: 1 });
    expect(computeSupply(replicas, null, now)).toMatchObject({ ready: 1, pending: 2, unavailable: 0 });
  });

  it("does not count a replica whose keeper fell silent", () => {
    const later = { monoMs: 76_000, wallMs: 60_000 };
    expect(computeSupply(replicas, 60_000, later)).toMatchObject({ ready: 0, unavailable: 1 });
  });
});
