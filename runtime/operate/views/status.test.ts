import { expect, test } from "vitest";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import type { Prepared } from "../../domain/rollout.ts";
import { Series } from "../series/series.ts";
import { aHosted, aReport, aRolledVersion, aRollout, aSpec, aVersion } from "../testing/facts.ts";
import { FakeBoard } from "../testing/fake-board.ts";
import { viewEndpoint } from "./endpoint-view.ts";

const iris = aVersion().id;
const newer = aVersion("b");

/** The status of `iris` on a Board that `write` filled. */
function statusOn(write: (board: FakeBoard) => void) {
  const board = new FakeBoard();
  write(board);
  return viewEndpoint(board, aSpec(), new Series(), { mono: asMonoMs(0), wall: asWallMs(0) }).status;
}

const prepared = (state: Prepared["state"]): Prepared => ({ endpoint: "iris", modelKey: "k", deployNumber: 1, state });
const failedPreparation = prepared({ kind: "failed", code: "X", why: "no such file", todo: "Check it." });
const wants = (board: FakeBoard, replicas: number): void =>
  board.put("wanted", iris, { version: iris, replicas, targetConcurrency: 4 });
const serves = (board: FakeBoard): void => {
  board.put("rollout", "iris", aRollout());
  wants(board, 1);
  board.put("hosted", `${iris}-0`, aHosted());
  board.put("replica", `${iris}-0`, aReport());
};

test("before anything is known an endpoint is preparing", () => {
  expect(statusOn(() => {})).toMatchObject({ word: "preparing", todo: null });
});

test("a fetch shows how far it is", () => {
  const fetching = prepared({ kind: "working", doing: "fetching", doneBytes: 29, totalBytes: 100 });
  expect(statusOn((board) => board.put("prepared", "iris", fetching))).toMatchObject({
    word: "preparing",
    reason: "fetching (29 %)",
  });
});

test("a first preparation that failed is failed, with what to do; beside a serving version it is degraded", () => {
  const fail = (board: FakeBoard): void => board.put("prepared", "iris", failedPreparation);
  const waysOn = "The endpoint stays and answers 503: deploy again, or remove it with `penstock delete iris`.";
  expect(statusOn(fail)).toEqual({ word: "failed", reason: "no such file", todo: `Check it. ${waysOn}` });
  const besides = statusOn((board) => {
    serves(board);
    fail(board);
  });
  expect(besides).toMatchObject({ word: "degraded", todo: "Check it." });
});

test("a staging version is starting when it is the first, rolling-out beside another", () => {
  const staging = aRolledVersion({ version: newer, phase: "staging", weight: 0 });
  const starting = (board: FakeBoard): void =>
    board.put("replica", `${newer.id}-0`, aReport({ id: `${newer.id}-0`, version: newer.id, phase: "warming" }));
  const first = statusOn((board) => {
    board.put("rollout", "iris", aRollout([staging]));
    starting(board);
  });
  expect(first).toMatchObject({ word: "starting", reason: `${newer.id}: replicas 1 warming` });
  const second = statusOn((board) => {
    serves(board);
    board.put("rollout", "iris", aRollout([aRolledVersion(), staging]));
    starting(board);
  });
  expect(second.word).toBe("rolling-out");
});

test("with a version that serves: ready, scaling, waking or asleep by what is ready of what is wanted", () => {
  expect(statusOn(serves).word).toBe("ready");
  const more = statusOn((board) => {
    serves(board);
    wants(board, 3);
  });
  expect(more).toMatchObject({ word: "scaling", reason: "1 of 3 replicas ready" });
  const zero = (replicas: number) =>
    statusOn((board) => {
      board.put("rollout", "iris", aRollout());
      wants(board, replicas);
    }).word;
  expect([zero(1), zero(0)]).toEqual(["waking", "asleep"]);
});

test("what is granted bounds what is missing: less than wanted is ready when no more may be had", () => {
  const status = statusOn((board) => {
    serves(board);
    wants(board, 5);
    board.put("granted", iris, { version: iris, replicas: 1 });
  });
  expect(status.word).toBe("ready");
});

test("a version that was given up: the first one says what is left and how to go on; a later one degrades what serves", () => {
  const giveUp = (board: FakeBoard, version = newer): void => {
    const failure = { why: "never got ready", lastLog: [] };
    const failed = aRolledVersion({ version, phase: "failed", weight: 0, failure });
    board.put("rollout", "iris", aRollout(version === newer ? [aRolledVersion(), failed] : [failed]));
    board.put("prepared", "iris", prepared({ kind: "ready", version }));
  };
  const first = statusOn((board) => giveUp(board, aVersion()));
  expect(first).toMatchObject({ word: "failed", todo: expect.stringContaining("`penstock delete iris`") });
  const later = statusOn((board) => {
    serves(board);
    giveUp(board);
  });
  expect(later).toMatchObject({
    word: "degraded",
    reason: `the newest deploy failed: ${newer.id}: never got ready`,
    todo: expect.stringMatching(/^Traffic was left where it was/),
  });
});

test("a replica that crashes or is stuck degrades; with none ready and all given up it is failed", () => {
  const crashing = (board: FakeBoard, ready: boolean): void => {
    serves(board);
    if (!ready) board.put("hosted", `${iris}-0`, aHosted({ state: "crash-loop" }));
    board.put("hosted", `${iris}-1`, aHosted({ id: `${iris}-1`, state: "crash-loop" }));
  };
  expect(statusOn((board) => crashing(board, true))).toMatchObject({ word: "degraded" });
  expect(statusOn((board) => crashing(board, false)).word).toBe("failed");
  const stuck = statusOn((board) => {
    serves(board);
    board.put("replica", `${iris}-0`, aReport({ phase: "stuck" }));
  });
  expect(stuck).toMatchObject({ word: "degraded", todo: `See \`penstock logs --source ${iris}-0\`.` });
});

test("a report of an older start says nothing of the process that runs now", () => {
  const status = statusOn((board) => {
    serves(board);
    board.put("hosted", `${iris}-0`, aHosted({ epoch: 2, state: "starting" }));
  });
  expect(status.word).toBe("waking");
});
