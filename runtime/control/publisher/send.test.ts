import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { specOf } from "../../../test/support/specs.ts";
import type { ToRouter } from "../../contract/wire/messages.ts";
import { REGION_KEY } from "../../domain/board.ts";
import { applyDiff, type Route, type Snapshot } from "../../domain/snapshot.ts";
import { Board, type FactWriter } from "../../driver/board.ts";
import { SnapshotBook } from "./book.ts";
import { SnapshotSender } from "./send.ts";

const { idempotent, timeouts, queue, maxBodyBytes, traceSampleRatio } = specOf("iris");

function routeOf(name: string, targets: Readonly<Record<string, number>>): Route {
  const settings = { name, idempotent, timeouts, queue, maxBodyBytes, traceSampleRatio };
  const versions = Object.entries(targets).map(([id, targetConcurrency]) => ({
    id: `${name}-${id}`,
    endpoint: name,
    targetConcurrency,
    hardCap: targetConcurrency * 2,
    replicas: [],
  }));
  return { endpoint: { ...settings, split: [], doors: [], problem: null }, versions };
}

let clock: FakeClock;
let board: Board;
let sent: ToRouter[];
let isUp: boolean;
let sender: SnapshotSender;
let book: SnapshotBook;
let specs: FactWriter<"spec">;

beforeEach(() => {
  clock = new FakeClock();
  board = new Board(clock);
  sent = [];
  isUp = true;
  sender = new SnapshotSender(board, clock, {
    send: (_router: string, message: ToRouter) => {
      sent.push(message);
      texts.push(
        message.kind === "snapshot"
          ? `${clock.monoMs()}: all of ${message.snapshot.generation.number}`
          : `${clock.monoMs()}: ${message.from.number} to ${message.to.number}`,
      );
      return isUp;
    },
  });
  texts.length = 0;
  specs = board.writer("spec");
  book = new SnapshotBook(board, { route: board.writer("route"), snapshot: board.writer("snapshot") }, sender, 1);
  const keys = board.writer("keys");
  setKeys = (names) => {
    const rows = names.map((name) => ({ hash: name, name, endpoints: null, admin: false }));
    keys.set(REGION_KEY, { required: true, keys: rows });
    book.keysChanged();
  };
});

/** What was sent, as `when: what`. */
const texts: string[] = [];
let setKeys: (names: readonly string[]) => void;
/** The n-th snapshot: the endpoint `iris` with a target that is n. */
const publish = (n: number) => book.decided("iris", routeOf("iris", { a: n }));

describe("the snapshot sender", () => {
  beforeEach(() => {
    specs.set("iris", specOf("iris"));
    setKeys([]);
  });

  it("sends the whole first, then diffs, at most four a second and always the newest", () => {
    publish(1);
    sender.connected("r", null);
    for (let n = 2; n <= 11; n++) {
      publish(n);
      clock.runFor(50);
    }
    clock.runFor(1_000);
    expect(texts).toEqual(["0: all of 1", "250: 1 to 6", "500: 6 to 11"]);
  });

  it("sends nothing to a router that holds the newest, and the whole to one that says it holds another", () => {
    for (const n of [1, 2, 3]) publish(n);
    sender.connected("r", { incarnation: 1, number: 3 });
    expect(texts).toEqual([]);
    sender.connected("r", { incarnation: 1, number: 2 });
    expect(texts).toEqual(["0: all of 3"]);
  });

  it("sends the whole to a router that holds the same number of an earlier life of the controller", () => {
    publish(1);
    sender.connected("r", { incarnation: 0, number: 1 });
    expect(texts).toEqual(["0: all of 1"]);
  });

  it("sends the whole again to a router whose reports do not show what was sent", () => {
    publish(1);
    sender.connected("r", null);
    clock.runFor(2_999);
    sender.reported("r", null);
    expect(texts).toEqual(["0: all of 1"]);
    clock.runFor(1);
    sender.reported("r", { incarnation: 1, number: 1 });
    expect(texts).toEqual(["0: all of 1"]);
    sender.reported("r", null);
    expect(texts).toEqual(["0: all of 1", "3000: all of 1"]);
  });

  it("forgets what a router holds when a send fails", () => {
    publish(1);
    sender.connected("r", null);
    isUp = false;
    clock.runFor(1_000);
    publish(2);
    isUp = true;
    clock.runFor(1_000);
    publish(3);
    expect(texts).toEqual(["0: all of 1", "1000: 1 to 2", "2000: all of 3"]);
  });

  it("sends the rows of what changed, however many other endpoints there are", () => {
    publish(1);
    for (let n = 0; n < 100; n++) book.decided(`other-${n}`, routeOf(`other-${n}`, { a: 1 }));
    sender.connected("r", null);
    clock.runFor(1_000);
    book.decided("iris", routeOf("iris", { a: 1, b: 2 }));
    const diff = sent.at(-1);
    expect(diff).toMatchObject({ kind: "snapshotDiff", endpoints: [], removedVersions: [], keys: null });
    expect(diff).toMatchObject({ versions: [{ id: "iris-b" }] });
  });
});

describe("the snapshot book", () => {
  it("publishes nothing that would open a region whose keys are not known", () => {
    specs.set("iris", specOf("iris"));
    publish(1);
    expect(board.get("snapshot", REGION_KEY).kind).toBe("missing");
    setKeys([]);
    expect(board.get("snapshot", REGION_KEY)).toMatchObject({ value: { generation: { incarnation: 1, number: 1 } } });
  });

  it("waits with its first snapshot for the routes of all endpoints: routers take it in the place of all they had", () => {
    setKeys([]);
    specs.set("iris", specOf("iris"));
    specs.set("wine", specOf("wine"));
    sender.connected("r", null);
    publish(1);
    expect(texts).toEqual([]);
    book.decided("wine", routeOf("wine", { a: 1 }));
    expect(texts).toEqual(["0: all of 1"]);
  });

  it("publishes a region without endpoints once a machine has told of itself", () => {
    setKeys([]);
    expect(board.get("snapshot", REGION_KEY).kind).toBe("missing");
    board.writer("machine").set("m", { cpuCount: 1, memoryBytes: 1, memoryAvailableBytes: 1, bootId: "b" });
    book.look();
    expect(board.get("snapshot", REGION_KEY).kind).toBe("known");
  });

  it("numbers only what differs", () => {
    specs.set("iris", specOf("iris"));
    setKeys([]);
    const numbers = [1, 1, 2].map((n) => {
      publish(n);
      const snapshot = board.get("snapshot", REGION_KEY);
      return snapshot.kind === "known" ? snapshot.value.generation.number : null;
    });
    expect(numbers).toEqual([1, 1, 2]);
  });
});

type Step = { readonly name: string; readonly targets: Record<string, number> | null } | { readonly keys: string[] };
const someStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    name: fc.constantFrom("iris", "wine", "moons"),
    targets: fc.option(fc.dictionary(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 3 }))),
  }),
  fc.record({ keys: fc.subarray(["k1", "k2"]) }),
);

it("a router that applies every diff holds what one is sent whole, and no diff names a row that is equal", () => {
  setKeys([]);
  specs.set("iris", specOf("iris"));
  publish(1);
  sender.connected("r", null);
  fc.assert(
    fc.property(fc.array(fc.record({ step: someStep, waitMs: fc.constantFrom(0, 100, 400) })), (steps) => {
      sent.length = 0;
      sender.connected("r", { incarnation: 0, number: 0 });
      clock.runFor(250);
      let held: Snapshot | null = null;
      for (const { step, waitMs } of steps) {
        if ("keys" in step) setKeys(step.keys);
        else book.decided(step.name, step.targets && routeOf(step.name, step.targets));
        clock.runFor(waitMs);
      }
      clock.runFor(250);
      for (const message of sent) {
        if (message.kind === "snapshot") held = message.snapshot;
        else {
          const rows: readonly unknown[] = held === null ? [] : [...held.endpoints, ...held.versions];
          for (const row of [...message.endpoints, ...message.versions]) expect(rows).not.toContainEqual(row);
          held = held && applyDiff(held, message);
        }
      }
      sender.connected("fresh", null);
      const whole = sent.at(-1);
      expect(sorted(held)).toEqual(whole?.kind === "snapshot" ? sorted(whole.snapshot) : null);
      sender.gone("fresh");
    }),
  );
});

function sorted(snapshot: Snapshot | null): Snapshot | null {
  if (snapshot === null) return null;
  const byName = (a: string, b: string) => (a < b ? -1 : 1);
  return {
    ...snapshot,
    endpoints: snapshot.endpoints.toSorted((a, b) => byName(a.name, b.name)),
    versions: snapshot.versions.toSorted((a, b) => byName(a.id, b.id)),
  };
}
