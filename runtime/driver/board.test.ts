import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemorySpecStore } from "../../test/support/memory-stores.ts";
import { specOf } from "../../test/support/specs.ts";
import { Board, storedWriter } from "./board.ts";

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
