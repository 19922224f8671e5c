import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { specOf, versionOf } from "../../../test/support/specs.ts";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import type { HostedReplica } from "../../domain/replica.ts";
import type { VersionPhase } from "../../domain/rollout.ts";
import { Board } from "../../driver/board.ts";
import { capacity } from "./controller.ts";

const version = versionOf(specOf("iris"));
const NOW = { mono: asMonoMs(0), wall: asWallMs(0) };

let board: Board;
let setRollout: (phase: VersionPhase) => void;
let setHosted: (count: number) => void;

beforeEach(() => {
  board = new Board(new FakeClock());
  const machine = { cpuCount: 8, memoryBytes: 2 ** 36, memoryAvailableBytes: 2 ** 36, bootId: "b" };
  board.writer("machine").set("m", machine);
  const rollout = board.writer("rollout");
  setRollout = (phase) => {
    const place = { weight: phase === "serving" ? 100 : 0, sizedForWeight: 100, sinceMs: asMonoMs(0) };
    const rolled = { version, phase, ...place, giveUpAtMs: null, failure: null };
    rollout.set("iris", { endpoint: "iris", versions: [rolled], updatedAtMs: asWallMs(0) });
  };
  const hosted = board.writer("hosted");
  setHosted = (count) => {
    for (let n = 1; n <= count; n++) {
      const quiet = { pid: null, failedStarts: 0, lastExit: null, lastLog: [] };
      const replica: HostedReplica = {
        id: `${version.id}-${n}`,
        version: version.id,
        epoch: 1,
        state: "running",
        ...quiet,
      };
      hosted.set(replica.id, replica);
    }
  };
});

const grantedNow = () =>
  capacity.decide(capacity.observe(board, "region"), capacity.init(null), NOW).output?.[version.id]?.replicas;

describe("capacity of what a region shows", () => {
  it("grants what runs of a serving version of which nobody has said yet what is wanted: unknown is not zero", () => {
    setRollout("serving");
    setHosted(2);
    expect(grantedNow()).toBe(2);
    board.writer("wanted").set(version.id, { version: version.id, replicas: 0, targetConcurrency: 4 });
    expect(grantedNow()).toBe(0);
  });

  it("grants nothing to what runs of a version that ends", () => {
    setRollout("draining");
    setHosted(2);
    expect(grantedNow()).toBe(0);
  });

  it("counts replicas that left the set and still run as leaving, those of the set as held", () => {
    setRollout("serving");
    setHosted(3);
    const replicas = [{ id: `${version.id}-1`, draining: true }];
    board.writer("replicaSet").set(version.id, { version, replicas });
    expect(capacity.observe(board, "region").versions).toMatchObject([{ held: 1, leaving: 2 }]);
  });
});
