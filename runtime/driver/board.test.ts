import fc from "fast-check";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemorySpecStore } from "../../test/support/memory-stores.ts";
import { preparedOf, specOf } from "../../test/support/specs.ts";
import { versionOfReplica } from "../domain/names.ts";
import type { HostedReplica } from "../domain/replica.ts";
import type { Prepared } from "../domain/rollout.ts";
import { Board, storedWriter } from "./board.ts";

const hosted = (id: string): HostedReplica => {
  const quiet = { pid: null, failedStarts: 0, lastExit: null, lastLog: [] };
  return { id, version: versionOfReplica(id), epoch: 1, state: "running", ...quiet };
};
const granted = (replicas: number) => ({ version: "iris-1", replicas });

it("hands out the writer of a fact once", () => {
  const board = new Board(new FakeClock());
  board.writer("granted");
  expect(() => board.writer("granted")).toThrow("has a writer already");
});

it("refreshes the age of an equal value without a new generation or an event", () => {
  const clock = new FakeClock();
  const board = new Board(clock);
  const events: string[] = [];
  board.subscribe((fact, key) => events.push(`${fact}/${key}`));
  const writer = board.writer("granted");
  writer.set("iris-1", { version: "iris-1", replicas: 1 });
  const first = board.get("granted", "iris-1");
  clock.runFor(1_000);
  writer.set("iris-1", { replicas: 1, version: "iris-1" });
  expect(board.get("granted", "iris-1")).toEqual({ ...first, atMs: 1_000 });
  writer.set("iris-1", granted(2));
  writer.remove("iris-1");
  writer.remove("iris-1");
  expect(events).toEqual(["granted/iris-1", "granted/iris-1", "granted/iris-1"]);
  expect(board.get("granted", "iris-1")).toEqual({ kind: "missing", why: "no granted of iris-1" });
});

it("lists keys sorted, whatever the order of writing", () => {
  const board = new Board(new FakeClock());
  const writer = board.writer("granted");
  for (const key of ["c", "a", "b"]) writer.set(key, granted(1));
  writer.remove("b");
  expect(board.keys("granted")).toEqual(["a", "c"]);
});

it("finds a version's replicas as a scan of all would, whatever was written and removed", () => {
  const steps = fc.array(fc.record({ id: fc.constantFrom("a-1-1", "a-1-2", "a-1-10", "b-1-1"), gone: fc.boolean() }));
  fc.assert(
    fc.property(steps, (writes) => {
      const board = new Board(new FakeClock());
      const writer = board.writer("hosted");
      for (const { id, gone } of writes) {
        if (gone) writer.remove(id);
        else writer.set(id, hosted(id));
      }
      for (const version of ["a-1", "b-1", "c-1"]) {
        const scanned = board.keys("hosted").filter((id) => versionOfReplica(id) === version);
        expect(board.replicasOf("hosted", version)).toEqual(scanned);
        expect(board.replicasOf("replica", version)).toEqual([]);
      }
    }),
  );
});

it("finds stored facts again, and shows nothing that is not on disk", () => {
  const store = new MemorySpecStore();
  const writer = storedWriter(new Board(new FakeClock()), store, "spec");
  writer.set("iris", specOf("iris"));
  const next = new Board(new FakeClock());
  const again = storedWriter(next, store, "spec");
  expect(next.get("spec", "iris")).toMatchObject({ kind: "known", value: specOf("iris") });
  store.put = () => {
    throw new Error("disk full");
  };
  expect(() => again.set("iris", specOf("iris", { generation: 2 }))).toThrow("disk full");
  expect(next.get("spec", "iris")).toMatchObject({ value: { generation: 1 } });
});

it("keeps no value that does not outlive the process: the next one finds the last that does", () => {
  const store = new MemorySpecStore();
  const outlives = ({ state }: Prepared) => state.kind !== "working";
  const board = new Board(new FakeClock());
  const writer = storedWriter(board, store, "prepared", outlives);
  const ready = preparedOf(specOf("iris"));
  const working: Prepared = {
    ...ready,
    deployNumber: 2,
    state: { kind: "working", doing: "fetching", doneBytes: 1, totalBytes: null },
  };
  writer.set("iris", ready);
  writer.set("iris", working);
  expect(board.get("prepared", "iris")).toMatchObject({ value: working });
  const later = new Board(new FakeClock());
  storedWriter(later, store, "prepared", outlives);
  expect(later.get("prepared", "iris")).toMatchObject({ value: ready });
  // The last value kept is not the last one shown: ready again after progress is written.
  const next = { ...ready, deployNumber: 2 };
  writer.set("iris", next);
  expect(store.load("prepared")).toEqual([{ key: "iris", value: next }]);
});
