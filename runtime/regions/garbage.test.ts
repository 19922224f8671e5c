import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { preparedOf, specOf, versionOf } from "../../test/support/specs.ts";
import { asMonoMs, asWallMs } from "../core/time.ts";
import { Board } from "../driver/board.ts";
import { versionsOf } from "./garbage.ts";

test("versions that are kept for a rollback, still draining, or prepared and not yet rolled out are all referred to", () => {
  const board = new Board(new FakeClock());
  const [kept, draining, prepared] = ["./kept", "./draining", "./prepared"].map((model) => specOf("iris", { model }));
  const rolled = {
    version: versionOf(kept!),
    phase: "kept",
    weight: 0,
    sizedForWeight: 0,
    sinceMs: asMonoMs(0),
  } as const;
  const versions = [{ ...rolled, giveUpAtMs: null, failure: null }];
  board.writer("rollout").set("iris", { endpoint: "iris", versions, updatedAtMs: asWallMs(0) });
  board.writer("replicaSet").set("iris-draining", { version: versionOf(draining!), replicas: [] });
  board.writer("prepared").set("iris", preparedOf(prepared!));
  const ids = versionsOf(board).map(({ id }) => id);
  expect(ids.sort()).toEqual([kept!, draining!, prepared!].map((spec) => versionOf(spec).id).sort());
});
