import { describe, expect, test } from "vitest";
import { ask, Stand, snapshot, version } from "./fixture.ts";
import { readLoad } from "./load.ts";

const SENT = { sent: true, answerBegun: false };
const NOT_SENT = { sent: false, answerBegun: false };

function versionLoad(stand: Stand) {
  return readLoad(stand.memory, stand.plan, stand.nowMs).versions[0]!;
}

describe("a version at zero", () => {
  test("holds requests, asks once for a wake-up, and sends them when a replica is ready", () => {
    const stand = new Stand(snapshot([version("v1", 2, [])]));
    const first = stand.admit();
    const second = stand.admit();
    expect([first.seat, first.risingEdge, second.seat, second.risingEdge]).toEqual([null, true, null, false]);
    stand.apply(snapshot([version("v1", 2, ["r0"])]));
    expect(stand.ready()).toEqual([first, second]);
  });

  test("turns requests away when their time is up, in the order of their deadlines", () => {
    const stand = new Stand(snapshot([version("v1", 2, [])], [100], { maxWaitMs: 100 }));
    const first = stand.admit();
    stand.nowMs += 10;
    const second = stand.admit();
    expect(stand.flow.takeExpired(first.arrivedAtMs + 99)).toBeNull();
    stand.nowMs = first.arrivedAtMs + 100;
    expect(stand.flow.takeExpired(stand.nowMs)).toBe(first);
    expect(stand.flow.takeExpired(stand.nowMs)).toBeNull();
    expect(second.settled).toBe(false);
    expect(versionLoad(stand)).toMatchObject({ arrivals: 2, turnedAwayForCapacity: 1, queued: 1, queuedMsTotal: 190 });
  });

  test("turns away in the order they came those whose time is up at the same moment", () => {
    const stand = new Stand(snapshot([version("v1", 2, [])], [100], { maxWaitMs: 100 }));
    const came = [stand.admit(), stand.admit(), stand.admit()];
    stand.nowMs += 100;
    expect(came.map(() => stand.flow.takeExpired(stand.nowMs))).toEqual(came);
  });

  test("takes no more than the endpoint's bound, in requests and in bytes", () => {
    const byCount = new Stand(snapshot([version("v1", 1, [])], [100], { maxRequests: 2 }));
    expect([1, 2, 3].map(() => typeof byCount.flow.admit("e", ask(), 0))).toEqual(["object", "object", "string"]);
    const byBytes = new Stand(snapshot([version("v1", 1, [])], [100], { maxBytes: 10_240 }));
    const admit = () => byBytes.flow.admit("e", ask({ bodyBytes: 5_000 }), 0);
    // 5,000 bytes are 5 KiB: two fill the bound of 10.
    expect([admit(), admit(), admit()].map((lease) => (typeof lease === "string" ? lease : "held"))).toEqual([
      "held",
      "held",
      "queue-full",
    ]);
  });
});

test("a request in line is not overtaken by one that comes later", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0"])]));
  const holding = stand.admit();
  const waiting = stand.admit();
  stand.flow.settle(holding, "completed", stand.nowMs);
  const late = stand.admit();
  expect(late.seat).toBeNull();
  expect(stand.ready()).toEqual([waiting]);
});

test("the first byte counts once, from arrival, in the bucket of its time, and not after the end", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0"])]));
  const [early, gone] = [stand.admit(), stand.admit()];
  stand.flow.settle(gone, "client-gone", stand.nowMs);
  stand.nowMs += 100;
  for (const lease of [early, early, gone]) stand.flow.firstByte(lease, stand.nowMs);
  stand.nowMs += 300;
  stand.flow.settle(early, "completed", stand.nowMs);
  const row = versionLoad(stand);
  expect([row.firstByteMsTotal, row.serviceMsTotal]).toEqual([100, 400]);
  // 0.25 ms x 2^(n/2): 90.5 to 128 ms is bucket 18, 362 to 512 ms is bucket 22.
  const filled = (buckets: readonly number[]) =>
    buckets.flatMap((count, bucket) => (count > 0 ? [[bucket, count]] : []));
  expect([filled(row.firstByteMsBuckets), filled(row.serviceMsBuckets)]).toEqual([[[18, 1]], [[22, 1]]]);
  expect([row.firstByteMsBuckets.length, row.serviceMsBuckets.length]).toEqual([49, 49]);
});

test("a replica that left the snapshot with work on it is told as draining until that work is done", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0"])]));
  const held = stand.admit();
  stand.apply(snapshot([version("v1", 2, ["r1"])]));
  const rows = () => readLoad(stand.memory, stand.plan, stand.nowMs).replicas.map((row) => [row.replica, row.draining]);
  expect(rows()).toEqual([
    ["r1", false],
    ["r0", true],
  ]);
  stand.flow.settle(held, "completed", stand.nowMs);
  expect(rows()).toEqual([["r1", false]]);
});

test("a client that leaves while its request waits frees its place", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0"])], [100], { maxRequests: 1 }));
  stand.admit();
  const waiting = stand.admit();
  expect(stand.flow.admit("e", ask(), stand.nowMs)).toBe("queue-full");
  stand.flow.settle(waiting, "client-gone", stand.nowMs);
  expect(stand.admit().seat).toBeNull();
  expect(versionLoad(stand)).toMatchObject({ clientGone: 1, queued: 1, inFlight: 1 });
});

test("endpoints that are unknown or have no version to serve with give no lease", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0"])], [0]));
  expect(stand.flow.admit("e", ask(), 0)).toBe("no-version");
  expect(stand.flow.admit("f", ask(), 0)).toBe("unknown-endpoint");
});

test("a settled lease cannot be settled again: the first end wins", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0"])]));
  const lease = stand.admit();
  expect(stand.flow.settle(lease, "client-gone", stand.nowMs)).toBe(true);
  expect(stand.flow.settle(lease, "completed", stand.nowMs)).toBe(false);
  expect(versionLoad(stand)).toMatchObject({ clientGone: 1, completed: 0, inFlight: 0 });
});

describe("a retry", () => {
  test.each([
    { mayRepeat: true, progress: SENT, moved: "moved" },
    { mayRepeat: false, progress: NOT_SENT, moved: "moved" },
    { mayRepeat: false, progress: SENT, moved: "denied" },
    { mayRepeat: true, progress: { sent: true, answerBegun: true }, moved: "denied" },
  ])("of a request with mayRepeat $mayRepeat, $progress, is $moved", ({ mayRepeat, progress, moved }) => {
    const stand = new Stand(snapshot([version("v1", 2, ["r0", "r1"])]));
    expect(stand.flow.retry(stand.admit({ mayRepeat }), progress, stand.nowMs)).toBe(moved);
  });

  test("is made twice at most", () => {
    const stand = new Stand(snapshot([version("v1", 2, ["r0", "r1", "r2", "r3"])]));
    const lease = stand.admit();
    const outcomes = [1, 2, 3].map(() => stand.flow.retry(lease, SENT, stand.nowMs));
    expect(outcomes).toEqual(["moved", "moved", "denied"]);
    expect(new Set([lease.seat, ...lease.tried!]).size).toBe(3);
  });

  test("stops at the budget: three of three requests, not the fourth", () => {
    const stand = new Stand(snapshot([version("v1", 9, ["r0", "r1"])]));
    const outcomes = [1, 2, 3, 4].map(() => stand.flow.retry(stand.admit(), SENT, stand.nowMs));
    expect(outcomes).toEqual(["moved", "moved", "moved", "denied"]);
  });

  test("waits for the next start of the only replica and goes before the line", () => {
    const stand = new Stand(snapshot([version("v1", 1, ["r0"])]));
    const lost = stand.admit();
    const inLine = stand.admit();
    expect(stand.flow.retry(lost, SENT, stand.nowMs)).toBe("waiting");
    stand.apply(snapshot([version("v1", 2, ["r0@2"])]));
    expect(stand.ready()).toEqual([lost, inLine]);
    expect(lost.seat?.epoch).toBe(2);
  });

  test("leaves the freed seat to others and may come back to it after a second", () => {
    const stand = new Stand(snapshot([version("v1", 1, ["r0"])]));
    const lost = stand.admit();
    stand.flow.retry(lost, SENT, stand.nowMs);
    const other = stand.admit();
    expect(other.seat?.replica).toBe("r0");
    stand.flow.settle(other, "completed", stand.nowMs);
    expect(stand.ready()).toEqual([]);
    stand.nowMs += 1_000;
    expect(stand.ready()).toEqual([lost]);
  });
});

test("a replica's own refusal is no fault and no retry: the request tries the others, then waits a moment", () => {
  const stand = new Stand(snapshot([version("v1", 2, ["r0", "r1"])]));
  const lease = stand.admit();
  expect(stand.flow.refused(lease, stand.nowMs)).toBe("moved");
  expect(stand.flow.refused(lease, stand.nowMs)).toBe("waiting");
  expect(stand.ready()).toEqual([]);
  expect(stand.flow.wakeAtMs(stand.nowMs)).toBe(stand.nowMs + 20);
  stand.nowMs += 25;
  expect(stand.ready()).toEqual([lease]);
  expect(versionLoad(stand)).toMatchObject({ retries: 0, failed: 0, inFlight: 1 });
});

describe("a new snapshot", () => {
  test("moves what waits for a version that serves no more to the one that does", () => {
    const stand = new Stand(snapshot([version("v1", 1, [])]));
    const lease = stand.admit();
    stand.apply(snapshot([version("v1", 1, []), version("v2", 1, ["r0"])]));
    expect(stand.ready()).toEqual([lease]);
    expect(lease.version.id).toBe("v2");
  });

  test("lets what a draining replica holds finish, and sends it nothing new", () => {
    const stand = new Stand(snapshot([version("v1", 5, ["r0"])]));
    const old = stand.admit();
    stand.apply(snapshot([version("v1", 5, ["-r0", "r1"])]));
    expect([1, 2, 3].map(() => stand.admit().seat?.replica)).toEqual(["r1", "r1", "r1"]);
    expect(stand.inFlightOf("r0")).toBe(1);
    stand.flow.settle(old, "completed", stand.nowMs);
    expect(stand.inFlightOf("r0")).toBe(0);
  });

  test("ends the wait for an endpoint that is gone", () => {
    const stand = new Stand(snapshot([version("v1", 1, [])]));
    const lease = stand.admit();
    stand.apply({ ...snapshot([]), endpoints: [] });
    expect(stand.flow.takeExpired(stand.nowMs)).toBe(lease);
  });

  test("that is older than the one held is ignored", () => {
    const stand = new Stand(snapshot([version("v1", 1, ["r0"])]));
    const old = stand.plan;
    stand.apply(snapshot([version("v1", 1, ["r0", "r1"])]));
    stand.flow.applyPlan(old, stand.nowMs);
    expect([stand.admit().seat, stand.admit().seat]).not.toContain(null);
  });
});

describe("threads", () => {
  test("take freed room in turn: one that floods the line does not starve another", () => {
    const stand = new Stand(snapshot([version("v1", 1, ["r0"])]), { threads: 2 });
    let holder = 0;
    let held = stand.admit({}, 0);
    for (let count = 0; count < 10; count++) stand.admit({}, 0);
    stand.admit({}, 1);
    const holders = [1, 2, 3].map(() => {
      stand.threads[holder]!.settle(held, "completed", stand.nowMs);
      const ready = [stand.ready(0), stand.ready(1), stand.ready(0)];
      holder = ready[1]!.length;
      held = ready.flat()[0]!;
      return holder;
    });
    expect(holders).toEqual([0, 1, 0]);
  });

  test.each([0, 1])("leave freed room to the one with less in flight, whichever it is (thread %i has more)", (busy) => {
    const idle = 1 - busy;
    const stand = new Stand(snapshot([version("v1", 4, ["r0"])]), { threads: 2 });
    const held = [busy, busy, busy, idle].map((thread) => stand.admit({}, thread));
    const waiting = [stand.admit({}, busy), stand.admit({}, idle)];
    stand.threads[busy]!.settle(held[0]!, "completed", stand.nowMs);
    expect(stand.ready(busy)).toEqual([]);
    expect(stand.ready(idle)).toEqual([waiting[1]]);
  });

  test("wake the one that freed room belongs to", () => {
    const stand = new Stand(snapshot([version("v1", 1, ["r0"])]), { threads: 2 });
    const held = stand.admit({}, 0);
    const waiting = stand.admit({}, 1);
    const { cells, index } = stand.threads[1]!.doorbell;
    const before = cells[index]!;
    stand.flow.settle(held, "completed", stand.nowMs);
    expect(cells[index]).toBe(before + 1);
    expect(stand.ready(1)).toEqual([waiting]);
  });
});
