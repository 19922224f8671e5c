import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { SnapshotDiff, ToRouter } from "../../contract/wire/messages.ts";
import type { Snapshot } from "../../domain/snapshot.ts";
import { diffSnapshots } from "./diff.ts";
import { SnapshotSender } from "./send.ts";

const snapshotOf = (number: number, targets: Readonly<Record<string, number>> = {}): Snapshot => ({
  generation: { incarnation: 1, number },
  endpoints: [],
  versions: Object.entries(targets).map(([id, targetConcurrency]) => ({
    id,
    endpoint: "iris",
    targetConcurrency,
    hardCap: targetConcurrency * 2,
    replicas: [],
  })),
  keys: [],
  keysRequired: false,
});

describe("the snapshot sender", () => {
  let clock: FakeClock;
  let sent: string[];
  let isUp: boolean;
  let sender: SnapshotSender;

  beforeEach(() => {
    clock = new FakeClock();
    sent = [];
    isUp = true;
    sender = new SnapshotSender(clock, {
      send: (_router: string, message: ToRouter) => {
        sent.push(
          message.kind === "snapshot"
            ? `${clock.monoMs()}: all of ${message.snapshot.generation.number}`
            : `${clock.monoMs()}: ${message.from.number} to ${message.to.number}`,
        );
        return isUp;
      },
    });
  });

  it("sends the whole first, then diffs, at most four a second and always the newest", () => {
    sender.changed(snapshotOf(1));
    sender.connected("r", null);
    for (let n = 2; n <= 11; n++) {
      sender.changed(snapshotOf(n));
      clock.runFor(50);
    }
    clock.runFor(1_000);
    expect(sent).toEqual(["0: all of 1", "250: 1 to 6", "500: 6 to 11"]);
  });

  it("sends nothing to a router that holds the newest, and the whole to one that says it holds another", () => {
    sender.changed(snapshotOf(3));
    sender.connected("r", { incarnation: 1, number: 3 });
    expect(sent).toEqual([]);
    sender.connected("r", { incarnation: 1, number: 2 });
    expect(sent).toEqual(["0: all of 3"]);
  });

  it("sends the whole again to a router whose reports do not show what was sent", () => {
    sender.changed(snapshotOf(1));
    sender.connected("r", null);
    clock.runFor(2_999);
    sender.reported("r", null);
    expect(sent).toEqual(["0: all of 1"]);
    clock.runFor(1);
    sender.reported("r", { incarnation: 1, number: 1 });
    expect(sent).toEqual(["0: all of 1"]);
    sender.reported("r", null);
    expect(sent).toEqual(["0: all of 1", "3000: all of 1"]);
  });

  it("forgets what a router holds when a send fails", () => {
    sender.changed(snapshotOf(1));
    sender.connected("r", null);
    isUp = false;
    clock.runFor(1_000);
    sender.changed(snapshotOf(2));
    isUp = true;
    clock.runFor(1_000);
    sender.changed(snapshotOf(3));
    expect(sent).toEqual(["0: all of 1", "1000: 1 to 2", "2000: all of 3"]);
  });
});

function applied(from: Snapshot, diff: SnapshotDiff): Snapshot {
  const versions = new Map(from.versions.map((version) => [version.id, version]));
  for (const id of diff.removedVersions) versions.delete(id);
  for (const version of diff.versions) versions.set(version.id, version);
  const sorted = [...versions.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { ...from, generation: diff.to, versions: sorted, keys: diff.keys ?? from.keys };
}

it("a diff applied to the one gives the other, and names no row that is equal", () => {
  const targets = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.integer({ min: 1, max: 3 }));
  const sorted = (drawn: Record<string, number>) =>
    Object.fromEntries(Object.entries(drawn).sort(([a], [b]) => (a < b ? -1 : 1)));
  fc.assert(
    fc.property(targets, targets, (a, b) => {
      const [from, to] = [snapshotOf(1, sorted(a)), snapshotOf(2, sorted(b))];
      const diff = diffSnapshots(from, to);
      expect(applied(from, diff)).toEqual(to);
      for (const { id, targetConcurrency } of diff.versions) expect(a[id]).not.toBe(targetConcurrency);
    }),
  );
});
