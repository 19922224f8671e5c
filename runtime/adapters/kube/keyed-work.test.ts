import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { Log } from "../../ports/log.ts";
import { KeyedWork } from "./keyed-work.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {}, with: () => quiet } as unknown as Log;

/** Work whose runs are ended by the test, and the keys of those that run, in order. */
function begin() {
  const clock = new FakeClock();
  const runs: { readonly key: string; readonly end: (error?: Error) => void }[] = [];
  const work = new KeyedWork(
    (key) =>
      new Promise((resolve, reject) => void runs.push({ key, end: (error) => (error ? reject(error) : resolve()) })),
    { clock, random: { uniform: () => 1 }, log: quiet },
  );
  const end = async (index: number, error?: Error): Promise<void> => {
    runs[index]!.end(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, work, keys: () => runs.map(({ key }) => key), end };
}

test("a key is worked on by one at a time; added meanwhile, however often, it is worked on once more", async () => {
  const { work, keys, end } = begin();
  for (let times = 0; times < 5; times++) work.add("a");
  work.add("b");
  expect(keys()).toEqual(["a", "b"]);
  await end(0);
  expect(keys()).toEqual(["a", "b", "a"]);
  await end(2);
  expect(keys()).toEqual(["a", "b", "a"]);
});

test("few keys are worked on at once, the others in their order", async () => {
  const { work, keys, end } = begin();
  for (let key = 0; key < 10; key++) work.add(String(key));
  expect(keys()).toHaveLength(8);
  await end(3);
  expect(keys().slice(8)).toEqual(["8"]);
});

test("work that fails is tried again after a wait that grows, and at once when something changes", async () => {
  const { clock, work, keys, end } = begin();
  work.add("a");
  await end(0, new Error("refused"));
  clock.runFor(99);
  expect(keys()).toHaveLength(1);
  clock.runFor(1);
  expect(keys()).toHaveLength(2);
  await end(1, new Error("refused"));
  clock.runFor(199);
  expect(keys()).toHaveLength(2);
  work.add("a");
  expect(keys()).toHaveLength(3);
  await end(2);
  clock.runFor(60_000);
  expect(keys()).toHaveLength(3);
});

test("after its end nothing more is begun", async () => {
  const { clock, work, keys, end } = begin();
  work.add("a");
  work.close();
  await end(0, new Error("refused"));
  work.add("b");
  clock.runFor(60_000);
  expect(keys()).toEqual(["a"]);
});
