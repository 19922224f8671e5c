import { describe, expect, test } from "vitest";
import { asMonoMs, asWallMs } from "../runtime/core/time.ts";
import type { Prepared } from "../runtime/domain/rollout.ts";
import { Series } from "../runtime/operate/series/series.ts";
import { aReport, aRolledVersion, aRollout, aSpec, aVersion } from "../runtime/operate/testing/facts.ts";
import { FakeBoard } from "../runtime/operate/testing/fake-board.ts";
import { viewEndpoint } from "../runtime/operate/views/endpoint-view.ts";
import { deployStage } from "./deploy-stage.ts";

const old = aVersion("a");
const fresh = aVersion("b");

const deployed = (deployNumber: number, fields: object = {}) => ({ ...aSpec(fields), deployNumber });

/** The stage of deploy 2 on a Board that `write` filled, with the endpoint's spec as it was accepted or as it is by now. */
function stageOn(write: (board: FakeBoard) => void, spec = aSpec(), accepted = deployed(2)) {
  const board = new FakeBoard();
  write(board);
  return deployStage(viewEndpoint(board, spec, new Series(), { mono: asMonoMs(0), wall: asWallMs(0) }), accepted);
}

const prepared = (state: Prepared["state"], deployNumber = 2): Prepared => ({
  endpoint: "iris",
  modelKey: "k",
  deployNumber,
  state,
});
const ready = prepared({ kind: "ready", version: fresh });
const place = (board: FakeBoard, phase: "staging" | "serving" | "failed", weight: number, oldWeight: number): void => {
  board.put("prepared", "iris", ready);
  const failure = phase === "failed" ? { why: "crashed", lastLog: ["boom"] } : null;
  board.put(
    "rollout",
    "iris",
    aRollout([
      aRolledVersion({ version: old, weight: oldWeight }),
      aRolledVersion({ version: fresh, phase, weight, failure }),
    ]),
  );
};
const freshIsReady = (board: FakeBoard): void =>
  board.put("replica", `${fresh.id}-0`, aReport({ id: `${fresh.id}-0`, version: fresh.id }));

test("what an older generation was prepared for is not this deploy", () => {
  const stage = stageOn((board) => board.put("prepared", "iris", prepared({ kind: "ready", version: old }, 1)));
  expect(stage).toMatchObject({ kind: "under-way", doing: "waiting to be prepared" });
});

test("fetching tells how far it is", () => {
  const working = prepared({ kind: "working", doing: "fetching", doneBytes: 25, totalBytes: 100 });
  expect(stageOn((board) => board.put("prepared", "iris", working))).toEqual({
    kind: "under-way",
    doing: "fetching",
    doneRatio: 0.25,
  });
});

test("a deploy is done once the version has its whole weight and a ready replica", () => {
  expect(stageOn((board) => place(board, "staging", 0, 100))).toMatchObject({ kind: "under-way" });
  const halfWay = stageOn((board) => {
    place(board, "serving", 40, 60);
    freshIsReady(board);
  });
  expect(halfWay).toMatchObject({ kind: "under-way", doing: "moving traffic (40 %)" });
  const whole = stageOn((board) => {
    place(board, "serving", 100, 0);
    freshIsReady(board);
  });
  expect(whole).toEqual({ kind: "done", version: fresh.id, weight: 100 });
});

test("a canary is done at its own share", () => {
  const canary = aSpec({ traffic: { kind: "latest", canaryPercent: 10 } });
  const stage = stageOn((board) => {
    place(board, "serving", 10, 90);
    freshIsReady(board);
  }, canary);
  expect(stage).toEqual({ kind: "done", version: fresh.id, weight: 10 });
});

test("an endpoint that may sleep is done without a replica", () => {
  const stage = stageOn((board) => {
    place(board, "serving", 100, 0);
    board.put("wanted", fresh.id, { version: fresh.id, replicas: 0, targetConcurrency: 1 });
  });
  expect(stage.kind).toBe("done");
});

test("a version that was given up has failed, with its last lines", () => {
  expect(stageOn((board) => place(board, "failed", 0, 100))).toMatchObject({
    kind: "failed",
    why: "crashed",
    lastLog: ["boom"],
  });
});

describe("a deploy that others overtake", () => {
  const placed = (board: FakeBoard): void => place(board, "staging", 0, 100);
  const toOld = { kind: "split", parts: [{ version: old.id, percent: 100 }] };

  test("by a rollback ends and says where the traffic went: it would have waited to its time-out", () => {
    expect(stageOn(placed, deployed(2, { traffic: toOld }))).toMatchObject({
      kind: "failed",
      why: `its traffic was given to ${old.id} 100 % meanwhile`,
      todo: expect.stringContaining("penstock split iris --latest"),
    });
  });

  test("by a deploy of another model ends; one of the same model is as good", () => {
    const later = deployed(3, { model: "/models/other.onnx" });
    expect(stageOn(placed, later)).toMatchObject({ kind: "failed", why: "a later deploy took its place" });
    expect(stageOn(placed, deployed(3))).toMatchObject({ kind: "under-way" });
  });

  test("by nobody, with a split of its own that gives the version nothing, is done", () => {
    const spec = deployed(2, { traffic: toOld });
    expect(stageOn(placed, spec, spec)).toEqual({ kind: "done", version: fresh.id, weight: 0 });
  });
});
