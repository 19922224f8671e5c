import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { autoscalerWorld } from "../../../test/support/autoscaler-world.ts";
import { meanPerMs } from "../../core/window/span-sums.ts";
import { concurrencyAsked, ingestLoad, readDemand } from "./demand.ts";
import { initMemory, type Memory } from "./memory.ts";
import type { LoadRow, RouterRows, World } from "./world.ts";

const VERSION = "iris-0123456789";
const OTHER = "iris-aaaaaaaaaa";
const SUPPLY = { ready: 1, pending: 0, unavailable: 0, startupBudgetMs: 30_000 };

function worldOf(routers: readonly RouterRows[], place: Partial<NonNullable<World["place"]>> = {}): World {
  return autoscalerWorld({ routers, place: { phase: "serving", weight: 100, sizedForWeight: 100, ...place } });
}

/** A router's counts after `seconds` of ten requests a second that take `inFlight` places all the time. */
function reportOf(router: string, epoch: number, seconds: number, inFlight: number, version = VERSION): RouterRows {
  const row: LoadRow = {
    version,
    arrivals: seconds * 10,
    completed: seconds * 10,
    turnedAway: 0,
    inFlight,
    queued: 0,
    inFlightMsTotal: inFlight * seconds * 1_000,
    queuedMsTotal: 0,
    serviceMsTotal: inFlight * seconds * 1_000,
  };
  return { router, epoch, seq: seconds, routerMonoMs: seconds * 1_000, receivedAtMs: seconds * 1_000, rows: [row] };
}

function meanAfter(reports: readonly (readonly RouterRows[])[], place = {}): { mean: number; memory: Memory } {
  let memory = initMemory(null);
  let mean = 0;
  for (const routers of reports) {
    const nowMs = Math.max(...routers.map((router) => router.receivedAtMs));
    const ingested = ingestLoad(worldOf(routers, place), memory, nowMs);
    const read = readDemand(worldOf(routers, place), ingested, SUPPLY, nowMs);
    memory = read.memory;
    mean = read.demand.meanUp;
  }
  return { mean, memory };
}

describe("taking in cumulative reports", () => {
  it("gives the same demand however many of them are lost or repeated", () => {
    const kept = fc.array(fc.constantFrom("once", "twice", "lost"), { minLength: 30, maxLength: 30 });
    fc.assert(
      fc.property(kept, (fates) => {
        const reports = [0, ...fates.map((_, index) => index + 1), 31].flatMap((second) => {
          const fate = fates[second - 1] ?? "once";
          const report = [reportOf("a", 1, second, 7)];
          return fate === "lost" ? [] : fate === "twice" ? [report, report] : [report];
        });
        expect(meanAfter(reports).mean).toBeCloseTo(7, 6);
      }),
    );
  });

  it("adds the routers up", () => {
    const reports = Array.from({ length: 10 }, (_, second) => [
      reportOf("a", 1, second, 7),
      reportOf("b", 1, second, 5),
    ]);
    expect(meanAfter(reports).mean).toBeCloseTo(12, 6);
  });

  it("starts from nothing with a router's new epoch instead of reading its lower counts as negative", () => {
    const before = Array.from({ length: 10 }, (_, second) => [reportOf("a", 1, second, 7)]);
    const after = Array.from({ length: 10 }, (_, second) => [
      { ...reportOf("a", 2, second, 7), receivedAtMs: (second + 10) * 1_000 },
    ]);
    const { memory } = meanAfter([...before, ...after]);
    expect(meanPerMs(memory.ownDemand, 19_000, 9_000)).toBeCloseTo(7, 6);
  });

  it("never changes the memory it was given, so that a recorded decision can be made again", () => {
    const { memory } = meanAfter([[reportOf("a", 1, 0, 7)], [reportOf("a", 1, 1, 7)]]);
    const before = structuredClone(memory);
    ingestLoad(worldOf([reportOf("a", 1, 2, 9)]), memory, 2_000);
    expect(memory).toEqual(before);
  });
});

describe("demand", () => {
  it("of a staged version is its coming share of the whole endpoint's", () => {
    const reports = Array.from({ length: 25 }, (_, second) => [reportOf("a", 1, second, 40, OTHER)]);
    const staged = { phase: "staging" as const, weight: 0, sizedForWeight: 25 };
    expect(meanAfter(reports, staged).mean).toBeCloseTo(10, 6);
    expect(meanAfter(reports, { weight: 25, sizedForWeight: 25 }).mean).toBe(0);
  });

  it("knows missing, partial and zero apart", () => {
    const nowMs = 30_000;
    const seen = (routers: readonly RouterRows[]) =>
      readDemand(worldOf(routers), ingestLoad(worldOf(routers), initMemory(null), nowMs), SUPPLY, nowMs).demand.seen;
    expect(seen([])).toBe("missing");
    expect(seen([reportOf("a", 1, 10, 1)])).toBe("missing");
    expect(seen([reportOf("a", 1, 10, 1), reportOf("b", 1, 30, 1)])).toBe("partial");
    expect(seen([{ ...reportOf("a", 1, 30, 0), rows: [] }])).toBe("whole");
  });
});

describe("concurrency asked", () => {
  const idle = { inFlight: 0, queued: 0, arrivalsPerMs: 0, turnedAwayPerMs: 0, serviceMs: 100 };

  it("counts in flight as it is", () => {
    expect(concurrencyAsked({ ...idle, inFlight: 40, arrivalsPerMs: 0.4 })).toBe(40);
  });

  it("does not read a long wait as concurrency: what waits is served as it comes and drained in 15 s", () => {
    // 10 a second of 100 ms keep 1 busy; 150 waiting are 15 s of work, one more.
    expect(concurrencyAsked({ ...idle, queued: 150, arrivalsPerMs: 0.01 })).toBeCloseTo(2, 9);
  });

  it("counts each waiting request of a slow model, which will be in flight when it is served", () => {
    expect(concurrencyAsked({ ...idle, queued: 300, serviceMs: 60_000 })).toBe(300);
  });

  it("takes a service time of a second while none is known", () => {
    expect(concurrencyAsked({ ...idle, queued: 300, serviceMs: null })).toBe(300 / 15);
  });

  it("counts what was turned away for the time it would have been in flight", () => {
    // 1,000 a second turned away at 100 ms each: 100 in flight beside the 20 that are.
    expect(concurrencyAsked({ ...idle, inFlight: 20, arrivalsPerMs: 1.2, turnedAwayPerMs: 1 })).toBeCloseTo(120, 9);
  });

  it("never falls as load grows", () => {
    const load = fc.record({
      inFlight: fc.nat(1_000),
      queued: fc.nat(1_000),
      arrivalsPerMs: fc.double({ min: 0, max: 10, noNaN: true }),
      serviceMs: fc.option(fc.integer({ min: 1, max: 10_000 }), { nil: null }),
    });
    fc.assert(
      fc.property(load, fc.nat(100), (base, more) => {
        const asked = concurrencyAsked({ ...base, turnedAwayPerMs: 0 });
        expect(concurrencyAsked({ ...base, queued: base.queued + more, turnedAwayPerMs: 0 })).toBeGreaterThanOrEqual(
          asked,
        );
        expect(
          concurrencyAsked({ ...base, inFlight: base.inFlight + more, turnedAwayPerMs: 0 }),
        ).toBeGreaterThanOrEqual(asked);
      }),
    );
  });
});
