import fc from "fast-check";
import { expect, it } from "vitest";
import { DueQueue } from "./due-queue.ts";

it("takes entries as a sorted list would: by time, then by rank, each once", () => {
  const moves = fc.array(fc.tuple(fc.nat(20), fc.nat(50)), { maxLength: 60 });
  fc.assert(
    fc.property(moves, fc.array(fc.nat(20), { maxLength: 5 }), (sets, removed) => {
      const queue = new DueQueue<number>((entry) => entry);
      const reference = new Map<number, number>();
      for (const [entry, dueMs] of sets) {
        queue.set(entry, dueMs);
        reference.set(entry, dueMs);
      }
      for (const entry of removed) {
        queue.remove(entry);
        reference.delete(entry);
      }
      const taken: number[] = [];
      for (let entry = queue.takeDue(50); entry !== null; entry = queue.takeDue(50)) taken.push(entry);
      expect(taken).toEqual([...reference].sort((a, b) => a[1] - b[1] || a[0] - b[0]).map(([entry]) => entry));
    }),
  );
});

it("gives nothing before its time", () => {
  const queue = new DueQueue<string>(() => 0);
  queue.set("a", 10);
  expect([queue.takeDue(9), queue.nextDueMs(), queue.takeDue(10), queue.nextDueMs()]).toEqual([null, 10, "a", null]);
});
