import { beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { createLog } from "../log.ts";
import { type KubeClient, KubeError, type KubeRequest } from "./kube-client.ts";
import { ListWatch, type ListWatchObserver } from "./list-watch.ts";
import type { KubeObject } from "./objects.ts";

const MINUTE_MS = 60_000;
const object = (name: string, resourceVersion: string): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion },
});

/** An API server with what it lists, and what each of its watches does. */
class FakeApi implements KubeClient {
  items: readonly KubeObject[] = [];
  lists = 0;
  watches: KubeRequest[] = [];
  watch: (take: (line: unknown) => void) => Promise<void> = () => new Promise(() => {});

  async send(): Promise<unknown> {
    this.lists += 1;
    return { metadata: { resourceVersion: "100" }, items: structuredClone(this.items) };
  }

  stream(asked: KubeRequest, _silenceMs: number, take: (line: unknown) => void): Promise<void> {
    this.watches.push(asked);
    return this.watch(take);
  }

  close(): void {}
}

let api: FakeApi;
let clock: FakeClock;
let logged: string[];

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  logged = [];
});

function watchWith(observer: Partial<ListWatchObserver<KubeObject>>): ListWatch<KubeObject> {
  return new ListWatch(
    {
      client: api,
      type: { group: "", version: "v1", plural: "things" },
      namespace: null,
      clock,
      random: { uniform: () => 0 },
      log: createLog({ level: "error", human: false, write: (line) => logged.push(line) }),
    },
    { changed: () => {}, gone: () => {}, synced: () => {}, ...observer },
  );
}

/** Lets all that is under way come to its end, which takes no time by the clock. */
async function runFor(spanMs: number): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  for (let leftMs = spanMs; leftMs > 0; leftMs -= 100) {
    clock.runFor(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each<[string, (take: (line: unknown) => void) => Promise<void>]>([
  ["refused", () => Promise.reject(new KubeError(403, "Forbidden", "may not watch", null))],
  ["ended at once", () => Promise.resolve()],
  ["told that its place is forgotten", async (take) => take({ type: "ERROR", object: { code: 410 } })],
])("a watch that is %s each time is begun ever more rarely, though every list succeeds", async (_how, watch) => {
  api.watch = watch;
  const list = watchWith({});
  await runFor(MINUTE_MS);
  // From 200 ms doubling to 10 s, each at its shortest half: 6 in the first 6.3 s, then one in 5 s.
  expect(api.watches.length).toBeGreaterThan(10);
  expect(api.watches.length).toBeLessThan(20);
  list.close();
});

test("a watch that the server ends after its time goes on from the newest place, with no list and no pause", async () => {
  let end = (): void => {};
  api.watch = (take) => {
    take({ type: "BOOKMARK", object: { metadata: { resourceVersion: "200" } } });
    return new Promise((resolve) => {
      end = resolve;
    });
  };
  const list = watchWith({});
  await runFor(2_000);
  end();
  await runFor(0);
  expect(api.lists).toBe(1);
  expect(api.watches.map((asked) => asked.query?.resourceVersion)).toEqual(["100", "200"]);
  list.close();
});

test("an observer that fails on one object is told of the others, and the watch is not begun anew for it", async () => {
  api.items = [object("bad", "1"), object("good", "2")];
  const told: string[] = [];
  const list = watchWith({
    changed: ({ metadata }) => {
      if (metadata.name === "bad") throw new Error("can't be read");
      told.push(metadata.name);
    },
    synced: () => told.push("synced"),
  });
  await runFor(MINUTE_MS);
  expect(told).toEqual(["good", "synced"]);
  expect(api.lists).toBe(1);
  expect(logged.join("")).toContain("KUBE_OBSERVER_FAILED");
  list.close();
});

test("after it was closed an observer is told of nothing more, even of what came in the same piece", async () => {
  const told: string[] = [];
  api.watch = async (take) => {
    for (const name of ["first", "second"]) take({ type: "ADDED", object: object(name, name) });
  };
  const list = watchWith({
    changed: ({ metadata }) => {
      told.push(metadata.name);
      list.close();
    },
  });
  await runFor(MINUTE_MS);
  expect(told).toEqual(["first"]);
  expect(api.watches).toHaveLength(1);
});
