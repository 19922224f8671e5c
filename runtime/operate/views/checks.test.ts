import { expect, test } from "vitest";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import { Series } from "../series/series.ts";
import { aRollout, aRouterLoad, aSpec } from "../testing/facts.ts";
import { FakeBoard } from "../testing/fake-board.ts";
import { viewChecks } from "./checks.ts";
import { viewEndpoint } from "./endpoint-view.ts";

/** Verdicts by name of a Board at `nowMs`. */
function verdicts(board: FakeBoard, nowMs = 1_000): Record<string, string> {
  const now = { mono: asMonoMs(nowMs), wall: asWallMs(nowMs) };
  const endpoints = [viewEndpoint(board, aSpec(), new Series(), now)];
  return Object.fromEntries(viewChecks(board, endpoints, nowMs).map(({ name, verdict }) => [name, verdict]));
}

function wellBoard(): FakeBoard {
  const board = new FakeBoard();
  board.put("rollout", "iris", aRollout());
  board.put("routerLoad", "router", aRouterLoad(1, []));
  board.put("machine", "local", { cpuCount: 2, memoryBytes: 1_000, memoryAvailableBytes: 500, bootId: "b" });
  return board;
}

test("a region that is well passes every check", () => {
  expect(verdicts(wellBoard())).toEqual({
    "router router": "pass",
    "memory of local": "pass",
    cpu: "pass",
    "endpoint iris": "pass",
  });
});

test("an empty Board fails for want of a router and an agent", () => {
  expect(verdicts(new FakeBoard())).toMatchObject({ routers: "fail", agent: "fail" });
});

test("a router that is silent for over 5 s fails; one that lacks the newest snapshot is a warning", () => {
  expect(verdicts(wellBoard(), 6_001)["router router"]).toBe("fail");
  const board = wellBoard();
  const generation = { incarnation: 1, number: 2 };
  board.put("snapshot", "region", { generation });
  expect(verdicts(board)["router router"]).toBe("warn");
});

test("under 10 % of memory left is a warning", () => {
  const board = wellBoard();
  board.put("machine", "local", { cpuCount: 2, memoryBytes: 1_000, memoryAvailableBytes: 99, bootId: "b" });
  expect(verdicts(board)["memory of local"]).toBe("warn");
});
