import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { specOf, versionOf } from "../../../test/support/specs.ts";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import { replicaIdOf } from "../../domain/names.ts";
import type { HostedReplica, ReplicaPhase } from "../../domain/replica.ts";
import { decideFleet } from "./decide.ts";
import { type FleetMemory, initFleet, keepFleet } from "./memory.ts";
import type { FleetWorld } from "./world.ts";

const version = versionOf(specOf("iris"));
const idOf = (ordinal: number) => replicaIdOf(version.id, ordinal);
const nowAt = (ms: number) => ({ mono: asMonoMs(ms), wall: asWallMs(ms) });
const generation = (number: number) => ({ incarnation: 1, number });

function worldOf(change: Partial<FleetWorld> = {}): FleetWorld {
  const calm = {
    version,
    phase: "serving" as const,
    wanted: 0,
    granted: 100,
    requestMs: 60_000,
    hostKnown: true,
  };
  return { ...calm, hosted: [], reports: [], snapshot: null, routers: [], ...change };
}

/** A world in which replicas with these ordinals run ready, with work in flight as the routers and keepers count it. */
function running(work: Readonly<Record<number, number>>, change: Partial<FleetWorld> = {}): FleetWorld {
  const ids = Object.entries(work).map(([ordinal, inFlight]) => ({ id: idOf(Number(ordinal)), inFlight }));
  return worldOf({
    hosted: ids.map(({ id }) => ({ id, state: "running" as const, epoch: 1 })),
    reports: ids.map(({ id, inFlight }) => ({ id, phase: "ready" as const, epoch: 1, inFlight })),
    snapshot: { generation: generation(1), open: ids.map(({ id }) => id) },
    routers: [{ name: "r", generation: generation(1), rows: ids.map((row) => ({ ...row, draining: false })) }],
    ...change,
  });
}

const shown = (output: ReturnType<typeof decideFleet>["output"]) =>
  output?.replicas.map(({ id, draining }) => `${id.slice(version.id.length + 1)}${draining ? " drains" : ""}`) ?? null;

function run(memory: FleetMemory, world: FleetWorld, atMs: number) {
  const verdict = decideFleet(world, memory, nowAt(atMs));
  return { ...verdict, shown: shown(verdict.output) };
}

const start = () => run(initFleet(null), worldOf({ wanted: 3 }), 0);

describe("fleet", () => {
  it("wants min(wanted, granted) and says what bound it", () => {
    expect(run(initFleet(null), worldOf({ wanted: 3 }), 0)).toMatchObject({ shown: ["1", "2", "3"] });
    const bound = run(initFleet(null), worldOf({ wanted: 5, granted: 2 }), 0);
    expect([bound.shown, bound.because.reason]).toEqual([["1", "2"], "limit: granted"]);
  });

  it("starts one replica of a staging version though nothing asks for it, to prove it", () => {
    expect(run(initFleet(null), worldOf({ phase: "staging" }), 0).shown).toEqual(["1"]);
  });

  it("drains the one with least work, then the one not ready, then the youngest", () => {
    const busy = run(start().memory, running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2 }), 10);
    expect(busy.shown).toEqual(["1", "2 drains", "3"]);
    const idle = running({ 1: 0, 2: 0, 3: 0 }, { wanted: 2 });
    expect(run(start().memory, idle, 10).shown).toEqual(["1", "2", "3 drains"]);
    const reports = idle.reports.map((report) =>
      report.id === idOf(1) ? { ...report, phase: "warming" as const } : report,
    );
    // Replica 1 never was ready, so no router can know it: it may go at once.
    expect(run(start().memory, { ...idle, reports }, 10).shown).toEqual(["2", "3"]);
  });

  it("takes a draining replica back before it starts a new one, and never uses an ordinal twice", () => {
    const drained = run(start().memory, running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2 }), 10);
    const back = run(drained.memory, running({ 1: 5, 2: 1, 3: 4 }, { wanted: 4 }), 20);
    expect([back.shown, back.memory.nextOrdinal]).toEqual([["1", "2", "3", "4"], 5]);
  });

  it("takes back the draining one that is ready before one that never was, and of equals the oldest", () => {
    const gone = { snapshot: null, routers: [] };
    const warming = running({ 1: 1, 2: 1, 3: 1 }, gone);
    const reports = warming.reports.map((report) =>
      report.id === idOf(1) ? { ...report, phase: "stuck" as const } : report,
    );
    const drained = run(start().memory, { ...warming, wanted: 0 }, 10);
    expect(drained.shown).toEqual(["1 drains", "2 drains", "3 drains"]);
    expect(run(drained.memory, { ...warming, wanted: 1 }, 20).shown).toEqual(["1", "2 drains", "3 drains"]);
    const slots = drained.memory.slots.map((slot) => ({ ...slot, everReady: slot.id !== idOf(1) }));
    const memory = { ...drained.memory, slots };
    // Replica 1 never was ready, so it needs no drain and goes.
    expect(run(memory, { ...warming, reports, wanted: 1 }, 20).shown).toEqual(["2", "3 drains"]);
  });

  it("takes for a replica's work what routers count or its keeper sees, whichever is more", () => {
    const world = running({ 1: 5, 2: 1, 3: 1 }, { wanted: 2 });
    const counting = (rows: Readonly<Record<number, number>>) =>
      ["a", "b"].map((name) => ({
        name,
        generation: generation(1),
        rows: Object.entries(rows).map(([n, inFlight]) => ({ id: idOf(Number(n)), inFlight, draining: false })),
      }));
    // The keepers see 5, 1 and 1. Routers that count nothing on replica 1 do not make it the least busy.
    expect(run(start().memory, { ...world, routers: counting({ 2: 1, 3: 1 }) }, 10).shown).toEqual([
      "1",
      "2",
      "3 drains",
    ]);
    // Two routers count 1 each on replica 3, which is 2: replica 2 has the least.
    expect(run(start().memory, { ...world, routers: counting({ 3: 1 }) }, 10).shown).toEqual(["1", "2 drains", "3"]);
  });

  it("looks at a drain each second, and at the end of its grace", () => {
    const world = running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2, requestMs: 1_500 });
    const draining = run(start().memory, world, 10);
    expect(draining.wakeAtMs).toBe(1_010);
    expect(run(draining.memory, world, 900).wakeAtMs).toBe(1_510);
  });

  it("keeps an empty set of a version that serves, and drops that of one that ends", () => {
    const nothing = run(initFleet(null), worldOf({ wanted: 0 }), 0);
    expect([nothing.shown, nothing.because.reason]).toEqual([[], "hold: as wanted"]);
    expect(run(initFleet(null), worldOf({ phase: "draining" }), 0).output).toBe(null);
  });

  it("ends a draining replica only on a report made under a snapshot that closed it", () => {
    const draining = run(start().memory, running({ 1: 5, 2: 0, 3: 4 }, { wanted: 2 }), 10).memory;
    const rows = [{ id: idOf(2), inFlight: 0, draining: true }];
    const world = (shownIn: number, reported: number, inFlight = 0) =>
      running(
        { 1: 5, 2: inFlight, 3: 4 },
        {
          wanted: 2,
          snapshot: { generation: generation(shownIn), open: [idOf(1), idOf(3)] },
          routers: [{ name: "r", generation: generation(reported), rows: rows.map((row) => ({ ...row, inFlight })) }],
        },
      );
    expect(run(draining, world(2, 1), 20).shown).toEqual(["1", "2 drains", "3"]);
    expect(run(draining, world(2, 2, 1), 20).shown).toEqual(["1", "2 drains", "3"]);
    expect(run(draining, { ...world(2, 2), routers: [] }, 20).shown).toEqual(["1", "2 drains", "3"]);
    expect(run(draining, world(2, 2), 20).shown).toEqual(["1", "3"]);
  });

  it("ends a draining replica once its grace, the endpoint's request time-out, is over", () => {
    const world = running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2 });
    const draining = run(start().memory, world, 10);
    expect(run(draining.memory, world, 60_009).shown).toEqual(["1", "2 drains", "3"]);
    expect(run(draining.memory, world, 60_010).shown).toEqual(["1", "3"]);
  });

  it("after a restart says nothing until the host and the keepers have, or 10 s passed, then goes on with the same ids", () => {
    const kept = keepFleet(run(start().memory, running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2 }), 10).memory);
    const unheard = running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2, reports: [] });
    const held = run(initFleet(kept), unheard, 0);
    expect([held.output, held.because.reason, held.wakeAtMs]).toEqual([null, "hold: restart", 10_000]);
    expect(run(held.memory, running({ 1: 5, 2: 1, 3: 4 }, { wanted: 2 }), 50).shown).toEqual(["1", "2 drains", "3"]);
    expect(run(held.memory, unheard, 10_000).shown).toEqual(["1", "2 drains", "3"]);
  });

  it("adopts after a restart what runs though it was not kept", () => {
    expect(run(initFleet(null), running({ 4: 1, 7: 0 }, { wanted: 3 }), 0).shown).toEqual(["4", "7", "8"]);
  });

  it("replaces a crash-looping replica after a minute, then after two", () => {
    const crashed = (ordinal: number) =>
      worldOf({ wanted: 1, hosted: [{ id: idOf(ordinal), state: "crash-loop", epoch: 4 }] });
    const first = run(run(initFleet(null), worldOf({ wanted: 1 }), 0).memory, crashed(1), 1_000);
    expect([first.shown, first.wakeAtMs]).toEqual([["1"], 61_000]);
    const second = run(first.memory, crashed(1), 61_000);
    expect(second.shown).toEqual(["2"]);
    const third = run(second.memory, crashed(2), 62_000);
    expect(third.wakeAtMs).toBe(182_000);
  });

  it("holds at what there is while its grant or the wanted count is missing", () => {
    expect(run(start().memory, worldOf({ wanted: 9, granted: null }), 10).shown).toEqual(["1", "2", "3"]);
    const unsaid = run(start().memory, worldOf({ wanted: null }), 10);
    expect([unsaid.shown, unsaid.because.reason]).toEqual([["1", "2", "3"], "hold: missing-wanted"]);
  });
});

const replicas = fc.uniqueArray(
  fc.record({
    ordinal: fc.integer({ min: 1, max: 8 }),
    state: fc.constantFrom<HostedReplica["state"]>("starting", "running", "waiting", "crash-loop", "stopping"),
    phase: fc.constantFrom<ReplicaPhase>("starting", "warming", "ready", "draining", "stuck"),
    inFlight: fc.nat(3),
    draining: fc.boolean(),
  }),
  { selector: (replica) => replica.ordinal, maxLength: 8 },
);

const worlds = fc
  .record({
    replicas,
    phase: fc.constantFrom("staging", "serving", "draining", "kept", "failed", null),
    wanted: fc.option(fc.nat(8)),
    granted: fc.option(fc.nat(8)),
    reported: fc.nat(3),
  })
  .map(({ replicas: all, phase, wanted, granted, reported }): FleetWorld => {
    const rows = all.map(({ ordinal, ...rest }) => ({ id: idOf(ordinal), epoch: 1, ...rest }));
    return worldOf({
      phase,
      wanted,
      granted,
      hosted: rows.map(({ id, state, epoch }) => ({ id, state, epoch })),
      reports: rows.map(({ id, phase: at, epoch, inFlight }) => ({ id, phase: at, epoch, inFlight })),
      snapshot: { generation: generation(2), open: rows.filter((row) => !row.draining).map((row) => row.id) },
      routers: ["r1", "r2"].map((name) => ({
        name,
        generation: generation(reported),
        rows: rows.map(({ id, inFlight, draining }) => ({ id, inFlight, draining })),
      })),
    });
  });

/** The memory that a series of worlds leaves behind, a second apart, and the time after them. */
function live(series: readonly FleetWorld[]): { readonly memory: FleetMemory; readonly atMs: number } {
  const memory = series.reduce((before, world, n) => run(before, world, n * 1_000).memory, initFleet(null));
  return { memory, atMs: series.length * 1_000 };
}

describe("fleet, for any world", () => {
  const past = fc.array(worlds, { maxLength: 4 });

  it("decides the same when asked twice", () => {
    fc.assert(
      fc.property(past, worlds, (series, world) => {
        const { memory, atMs } = live(series);
        const once = run(memory, world, atMs);
        const twice = run(once.memory, world, atMs);
        expect(twice.output).toEqual(once.output);
      }),
    );
  });

  it("never has more serving replicas than granted, and as many as wanted where they are", () => {
    fc.assert(
      fc.property(past, worlds, (series, world) => {
        const { memory, atMs } = live(series);
        if (world.granted === null || world.phase !== "serving") return;
        const serving = run(memory, world, atMs).output?.replicas.filter((replica) => !replica.draining).length ?? 0;
        expect(serving).toBeLessThanOrEqual(world.granted);
        if (world.wanted !== null) expect(serving).toBe(Math.min(world.wanted, world.granted));
      }),
    );
  });

  it("does not care in which order the world lists things", () => {
    fc.assert(
      fc.property(past, worlds, (series, world) => {
        const { memory, atMs } = live(series);
        const turned: FleetWorld = {
          ...world,
          hosted: world.hosted.toReversed(),
          reports: world.reports.toReversed(),
          routers: world.routers.toReversed().map((router) => ({ ...router, rows: router.rows.toReversed() })),
        };
        expect(run(memory, turned, atMs).output).toEqual(run(memory, world, atMs).output);
      }),
    );
  });

  it("has at least as many serving replicas when more are wanted or granted", () => {
    const count = (output: ReturnType<typeof decideFleet>["output"]) =>
      output?.replicas.filter((replica) => !replica.draining).length ?? 0;
    fc.assert(
      fc.property(past, worlds, fc.nat(3), fc.nat(3), (series, world, moreWanted, moreGranted) => {
        const { memory, atMs } = live(series);
        if (world.wanted === null || world.granted === null) return;
        const larger = { ...world, wanted: world.wanted + moreWanted, granted: world.granted + moreGranted };
        expect(count(run(memory, larger, atMs).output)).toBeGreaterThanOrEqual(count(run(memory, world, atMs).output));
      }),
    );
  });
});
