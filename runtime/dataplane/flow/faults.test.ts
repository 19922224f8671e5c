import { describe, expect, test } from "vitest";
import { Stand, snapshot, version } from "./fixture.ts";
import type { Asked, FaultKind, FaultVerdict, Lease } from "./lease.ts";
import { readLoad } from "./load.ts";

const SENT = { sent: true, answerBegun: false };

function fleet(size: number, cap = 100): Stand {
  return new Stand(
    snapshot([
      version(
        "v1",
        cap,
        Array.from({ length: size }, (_, index) => `r${index}`),
      ),
    ]),
  );
}

/** Admits until a request lands on the replica; the others are put back. */
function leaseOn(stand: Stand, replica: string): Lease<Asked> {
  const others: Lease<Asked>[] = [];
  for (let attempt = 0; attempt < 10_000; attempt++) {
    const lease = stand.admit();
    if (lease.seat?.replica === replica) {
      for (const other of others) stand.flow.settle(other, "cancelled", stand.nowMs);
      return lease;
    }
    others.push(lease);
  }
  throw new Error(`nothing went to ${replica}`);
}

function failOn(stand: Stand, replica: string, kind: FaultKind): FaultVerdict {
  const lease = leaseOn(stand, replica);
  const verdict = stand.flow.fault(lease, kind, stand.nowMs);
  stand.flow.settle(lease, "failed", stand.nowMs);
  return verdict;
}

function ejected(stand: Stand): string[] {
  return readLoad(stand.memory, stand.plan, stand.nowMs).replicas.flatMap((row) => (row.ejected ? [row.replica] : []));
}

describe("a refused connection", () => {
  test("excludes the replica at once, even the only one", () => {
    const stand = fleet(1);
    expect(failOn(stand, "r0", "connect-refused")).toBe("excluded");
    expect(stand.admit().seat).toBeNull();
  });

  test("keeps it out for a second, doubling to thirty, each within 20 %", () => {
    const stand = fleet(1);
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      const lease = stand.admit();
      expect(stand.flow.fault(lease, "connect-refused", stand.nowMs)).toBe("excluded");
      stand.flow.settle(lease, "failed", stand.nowMs);
      const outMs = stand.memory.outUntilMs[0]! - stand.nowMs;
      expect(outMs).toBeGreaterThanOrEqual(seconds * 800);
      expect(outMs).toBeLessThanOrEqual(seconds * 1_200);
      stand.nowMs += outMs;
    }
  });

  test("is forgotten by the length of the next exclusion after thirty seconds in service", () => {
    const stand = fleet(1);
    failOn(stand, "r0", "connect-refused");
    stand.nowMs += 1_200;
    failOn(stand, "r0", "connect-refused");
    stand.nowMs += 2_400;
    const probe = stand.admit();
    stand.flow.settle(probe, "completed", stand.nowMs);
    stand.nowMs += 30_001;
    failOn(stand, "r0", "connect-refused");
    expect(stand.memory.outUntilMs[0]! - stand.nowMs).toBeLessThanOrEqual(1_200);
  });

  test("ends with one probe: a second request waits until the first has an answer", () => {
    const stand = fleet(1);
    failOn(stand, "r0", "connect-refused");
    stand.nowMs += 1_200;
    const probe = stand.admit();
    expect(probe.seat?.replica).toBe("r0");
    const second = stand.admit();
    expect(second.seat).toBeNull();
    stand.flow.firstByte(probe, stand.nowMs);
    expect(stand.ready()).toEqual([second]);
  });

  test("leaves the probe to the next request when the client of the first one goes", () => {
    const stand = fleet(1);
    failOn(stand, "r0", "connect-refused");
    stand.nowMs += 1_200;
    stand.flow.settle(stand.admit(), "client-gone", stand.nowMs);
    expect(stand.admit().probing).toBe(true);
  });
});

describe("ejection", () => {
  test("takes five faults in a row; a success between them starts the count again", () => {
    const stand = fleet(3);
    for (let count = 0; count < 4; count++) expect(failOn(stand, "r1", "error-status")).toBe("counted");
    stand.flow.settle(leaseOn(stand, "r1"), "completed", stand.nowMs);
    for (let count = 0; count < 4; count++) expect(failOn(stand, "r1", "reset")).toBe("counted");
    expect(failOn(stand, "r1", "error-status")).toBe("ejected");
    expect(ejected(stand)).toEqual(["r1"]);
  });

  test("lasts 30 s times its number, 300 s at most", () => {
    const stand = fleet(3);
    for (let count = 0; count < 4; count++) failOn(stand, "r1", "reset");
    for (let number = 1; number <= 12; number++) {
      expect(failOn(stand, "r1", "reset")).toBe("ejected");
      const outMs = stand.memory.outUntilMs[1]! - stand.nowMs;
      expect(outMs).toBe(Math.min(300_000, 30_000 * number));
      stand.nowMs += outMs;
    }
  });

  test.each([
    { size: 1, allowed: 0, why: "the only replica is never ejected" },
    { size: 2, allowed: 1, why: "of two, one may be" },
    { size: 3, allowed: 1, why: "10 % is less than one, and one may be" },
    { size: 19, allowed: 1, why: "10 % rounded down" },
    { size: 20, allowed: 2, why: "10 %" },
  ])("of a fleet of $size takes $allowed: $why", ({ size, allowed }) => {
    const stand = fleet(size);
    for (let index = 0; index < size; index++) {
      for (let count = 0; count < 6; count++)
        if (!ejected(stand).includes(`r${index}`)) failOn(stand, `r${index}`, "reset");
    }
    expect(ejected(stand)).toHaveLength(allowed);
  });

  test("leaves two in service, those that refuse connections not counted", () => {
    const stand = fleet(3);
    failOn(stand, "r0", "connect-refused");
    for (let count = 0; count < 6; count++) expect(failOn(stand, "r1", "reset")).toBe("counted");
  });

  test("is heeded by a full fleet as long as no more than half of it is ejected", () => {
    const stand = fleet(3, 1);
    for (let count = 0; count < 5; count++) failOn(stand, "r0", "reset");
    expect(ejected(stand)).toEqual(["r0"]);
    const seats = [1, 2, 3].map(() => stand.admit().seat?.replica ?? null);
    expect(seats.toSorted()).toEqual(["r1", "r2", null].toSorted());
    stand.nowMs += 300_000;
    // Its time is over: it may be tried, and counts as ejected no more.
    expect(ejected(stand)).toEqual([]);
  });

  test("is ignored in panic, when a shrunken fleet is more than half ejected", () => {
    const stand = fleet(30);
    for (const replica of ["r0", "r1", "r2"]) for (let count = 0; count < 5; count++) failOn(stand, replica, "reset");
    expect(ejected(stand)).toHaveLength(3);
    stand.apply(snapshot([version("v1", 100, ["r0", "r1", "r2", "r3", "r4"])]));
    const seats = new Set(Array.from({ length: 50 }, () => stand.admit().seat!.replica));
    expect(seats).toEqual(new Set(["r0", "r1", "r2", "r3", "r4"]));
  });
});

test("a time-out counts only if the replica finished nothing since the request was sent", () => {
  const stand = fleet(2);
  const stuck = leaseOn(stand, "r0");
  const other = leaseOn(stand, "r0");
  stand.nowMs += 1_000;
  stand.flow.settle(other, "completed", stand.nowMs);
  expect(stand.flow.fault(stuck, "timeout", stand.nowMs)).toBe("ignored");
  const alone = leaseOn(stand, "r1");
  stand.nowMs += 1_000;
  expect(stand.flow.fault(alone, "timeout", stand.nowMs)).toBe("counted");
});

test("a time-out is no fault while another of the replica's answers goes on", () => {
  const stand = fleet(2);
  const stuck = leaseOn(stand, "r0");
  const streaming = leaseOn(stand, "r0");
  stand.nowMs += 1_000;
  stand.flow.progressed(streaming, stand.nowMs);
  expect(stand.flow.fault(stuck, "timeout", stand.nowMs)).toBe("ignored");
});

test("faults are counted over threads: five are five whichever threads saw them", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0", "r1"])]), { threads: 2 });
  const verdicts: FaultVerdict[] = [];
  // With r1 held, every request goes to r0.
  const held = leaseOn(stand, "r1");
  for (let count = 0; count < 5; count++) {
    const thread = count % 2;
    const lease = stand.admit({}, thread);
    verdicts.push(stand.threads[thread]!.fault(lease, "reset", stand.nowMs));
    stand.threads[thread]!.settle(lease, "failed", stand.nowMs);
  }
  expect(held.seat?.replica).toBe("r1");
  expect(verdicts).toEqual(["counted", "counted", "counted", "counted", "ejected"]);
});

test("a request that failed where it was is retried elsewhere while the replica goes on with others", () => {
  const stand = fleet(2);
  const lease = leaseOn(stand, "r0");
  stand.flow.fault(lease, "reset", stand.nowMs);
  expect(stand.flow.retry(lease, SENT, stand.nowMs)).toBe("moved");
  expect(lease.seat?.replica).toBe("r1");
  expect(stand.inFlightOf("r0")).toBe(0);
});
