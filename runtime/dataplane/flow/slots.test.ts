import { expect, test } from "vitest";
import { Stand, snapshot, version } from "./fixture.ts";
import { readLoad, retireThread } from "./load.ts";

test("a restarted replica gets another slot, so that what its old epoch releases leaves the new one alone", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0"])]));
  const old = stand.admit();
  stand.apply(snapshot([version("v1", 2, ["r0@2"])]));
  const fresh = stand.admit();
  expect(fresh.seat!.slot).not.toBe(old.seat!.slot);
  stand.flow.settle(old, "failed", stand.nowMs);
  expect(stand.inFlightOf("r0")).toBe(1);
});

test("a slot is used again only when it is idle and every thread has left it", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0"])]), { threads: 2, replicaSlots: 1 });
  const held = stand.admit({}, 1);
  const replaced = snapshot([version("v1", 1, ["r1"])]);
  expect(stand.apply(replaced).replicaSlots).toEqual([[-1]]);
  stand.threads[1]!.settle(held, "completed", stand.nowMs);
  // Idle now, but thread 1 is not given the next plan: it still sees r0's seat, were it to look.
  stand.plan = stand.planner.plan(snapshot([version("v1", 1, ["r0"])]));
  for (const thread of stand.threads) thread.applyPlan(stand.plan, stand.nowMs);
  const late = stand.planner.plan(replaced);
  stand.threads[0]!.applyPlan(late, stand.nowMs);
  expect(stand.planner.plan(replaced).replicaSlots).toEqual([[-1]]);
  stand.threads[1]!.applyPlan(late, stand.nowMs);
  expect(stand.planner.plan(replaced).replicaSlots).toEqual([[0]]);
});

test("a replica that left and is listed again keeps its slot and its load", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0"])]));
  stand.admit();
  stand.apply(snapshot([version("v1", 2, [])]));
  expect(readLoad(stand.memory, stand.plan, stand.nowMs).replicas).toMatchObject([
    { replica: "r0", epoch: 1, inFlight: 1 },
  ]);
  stand.apply(snapshot([version("v1", 2, ["r0"])]));
  expect(stand.inFlightOf("r0")).toBe(1);
});

test("a version that left and came back goes on counting where it was", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0"])]));
  stand.flow.settle(stand.admit(), "completed", stand.nowMs);
  stand.apply(snapshot([version("v2", 2, ["r1"])]));
  stand.apply(snapshot([version("v1", 2, ["r0"])]));
  expect(readLoad(stand.memory, stand.plan, stand.nowMs).versions).toMatchObject([{ version: "v1", completed: 1 }]);
});

test("with its slots all used up, a memory gives the longest idle version's to a new one, from zero", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0"])]), { versionSlots: 2 });
  stand.flow.settle(stand.admit(), "completed", stand.nowMs);
  for (const id of ["v2", "v3"]) stand.apply(snapshot([version(id, 2, ["r0"])]));
  expect(readLoad(stand.memory, stand.plan, stand.nowMs).versions).toMatchObject([{ version: "v3", completed: 0 }]);
});

test("a slot that goes to a new version takes nothing from its neighbour's counters", () => {
  const both = (ids: readonly string[]) => snapshot(ids.map((id) => version(id, 2, [`${id}-r`])));
  const stand = new Stand(both(["v1", "v2"]), { versionSlots: 2 });
  stand.flow.settle(stand.admit(), "completed", stand.nowMs);
  stand.apply(both(["v2"]));
  stand.apply(both(["v3", "v2"]));
  expect(readLoad(stand.memory, stand.plan, stand.nowMs).versions).toMatchObject([
    { version: "v3", completed: 0 },
    { version: "v2", completed: 1 },
  ]);
});

test("a dead thread's requests leave every gauge, count as failed, and its counters go on", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0", "r1"])]), { threads: 2 });
  stand.threads[1]!.settle(stand.admit({}, 1), "completed", stand.nowMs);
  stand.admit({}, 1);
  stand.admit({}, 0);
  stand.admit({}, 1);
  const waiting = stand.admit({}, 0);
  const before = stand.threads[0]!.doorbell.cells[0]!;
  stand.nowMs += 100;
  retireThread(stand.memory, 1, stand.nowMs);
  expect(readLoad(stand.memory, stand.plan, stand.nowMs).versions[0]).toMatchObject({
    arrivals: 5,
    completed: 1,
    failed: 2,
    inFlight: 1,
    queued: 1,
    // Two in flight and two waiting for 100 ms each, whoever held them.
    inFlightMsTotal: 200,
    queuedMsTotal: 200,
  });
  expect(stand.threads[0]!.doorbell.cells[0]).toBe(before + 1);
  expect(stand.ready(0)).toEqual([waiting]);
});
