import fc from "fast-check";
import { expect, test } from "vitest";
import { ask, Stand, snapshot, version } from "./fixture.ts";
import { FlowThread } from "./flow-thread.ts";
import type { Asked } from "./lease.ts";

const names = Array.from({ length: 12 }, (_, index) => `r${index}`);

test("a request goes to one of the seats that a search over all of them finds least loaded, and to none when all are full", () => {
  const seats = fc.array(fc.record({ load: fc.nat(6), draining: fc.boolean() }), {
    minLength: 1,
    maxLength: names.length,
  });
  fc.assert(
    fc.property(
      seats,
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(),
      (rows, cap, cost, seed) => {
        const replicas = rows.map((row, index) => `${row.draining ? "-" : ""}r${index}`);
        const stand = new Stand(snapshot([version("v1", cap, replicas)]), { seed });
        for (const [index, row] of rows.entries()) stand.memory.total[stand.plan.replicaSlots[0]![index]!] = row.load;
        const open = rows.filter((row) => !row.draining && (row.load === 0 || row.load + cost <= cap));
        const least = Math.min(...open.map((row) => row.load));
        const lease = stand.admit({ cost });
        if (open.length === 0) expect(lease.seat).toBeNull();
        else {
          const chosen = rows[names.indexOf(lease.seat!.replica)]!;
          expect(chosen).toMatchObject({ draining: false, load: least });
          expect(stand.inFlightOf(lease.seat!.replica)).toBe(least + cost);
        }
      },
    ),
  );
});

test("ties are broken evenly", () => {
  const stand = new Stand(snapshot([version("v1", 10, ["r0", "r1", "r2", "r3"])]));
  const counts = new Map<string, number>();
  for (let round = 0; round < 4_000; round++) {
    const lease = stand.admit();
    counts.set(lease.seat!.replica, (counts.get(lease.seat!.replica) ?? 0) + 1);
    stand.flow.settle(lease, "completed", stand.nowMs);
  }
  // 4,000 draws over 4 seats: 1,000 each with a standard deviation of 27; five of these are 137.
  for (const name of names.slice(0, 4)) expect(Math.abs(counts.get(name)! - 1_000)).toBeLessThan(137);
});

test("a request dearer than the cap is sent to an idle replica rather than held for ever", () => {
  const stand = new Stand(snapshot([version("v1", 4, ["r0", "r1"])]));
  const small = stand.admit();
  const dear = stand.admit({ cost: 9 });
  expect(dear.seat?.replica).not.toBe(small.seat?.replica);
  expect(stand.admit({ cost: 9 }).seat).toBeNull();
});

test("versions are drawn by their weights", () => {
  const stand = new Stand(snapshot([version("v1", 10_000, ["a"]), version("v2", 10_000, ["b"])], [90, 10]));
  let second = 0;
  for (let count = 0; count < 5_000; count++) if (stand.admit().version.id === "v2") second++;
  // 10 % of 5,000 is 500 with a standard deviation of 21; five of these are 106.
  expect(Math.abs(second - 500)).toBeLessThan(106);
});

test("a place that another thread takes between the pick and the charge is not charged twice", () => {
  const stand = new Stand(snapshot([version("v1", 1, ["r0", "r1"])]), { threads: 2 });
  // Ties are drawn after the scan of loads: a draw that lets the other thread act is a race in a known order.
  let raced = 0;
  const late = new FlowThread<Asked>(stand.memory, 0, () => {
    if (raced++ === 0) for (let count = 0; count < 2; count++) stand.admit({}, 1);
    return 0;
  });
  late.applyPlan(stand.planner.plan(stand.plan.snapshot), stand.nowMs);
  const lease = late.admit("e", ask(), stand.nowMs);
  expect(raced).toBeGreaterThan(0);
  expect(lease).toMatchObject({ seat: null, settled: false });
  expect([stand.inFlightOf("r0"), stand.inFlightOf("r1")]).toEqual([1, 1]);
});
