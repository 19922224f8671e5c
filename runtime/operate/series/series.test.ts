import { expect, test } from "vitest";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import { aReport, aRolledVersion, aRollout, aRouterLoad, aVersion, aVersionLoad } from "../testing/facts.ts";
import { FakeBoard } from "../testing/fake-board.ts";
import { Series } from "./series.ts";

const iris = aVersion().id;

/** Runs `seconds` samples; `before` writes the Board ahead of each. */
function sampled(seconds: number, before: (board: FakeBoard, second: number) => void): Series {
  const [board, series] = [new FakeBoard(), new Series()];
  board.put("rollout", "iris", aRollout());
  for (let second = 1; second <= seconds; second++) {
    before(board, second);
    series.sample(board, { mono: asMonoMs(second * 1_000), wall: asWallMs(second * 1_000) });
  }
  return series;
}

test("a second of a version and of its endpoint holds load, scale and CPU", () => {
  const series = sampled(3, (board, second) => {
    board.put("routerLoad", "router-0", aRouterLoad(second, [aVersionLoad({ arrivals: second * 7, inFlight: 3 })]));
    board.put("wanted", iris, { version: iris, replicas: 2, targetConcurrency: 4.5 });
    const resources = { ...aReport().resources, cpuMsTotal: second * 250 };
    board.put("replica", `${iris}-0`, aReport({ resources }), second * 1_000);
  });
  const version = series.slice(iris, 2_000);
  expect(version?.atMs).toEqual([3_000]);
  expect(version?.columns).toMatchObject({
    qps: [7],
    inFlight: [3],
    targetConcurrency: [4.5],
    capacity: [4.5],
    wantedReplicas: [2],
    readyReplicas: [1],
    // 250 ms of CPU in each second.
    cpuCores: [0.25],
    p99Ms: [null],
  });
  expect(series.slice("iris", 2_000)?.columns).toMatchObject({ qps: [7], capacity: [4.5], targetConcurrency: [null] });
});

test("the ring holds the last 900 seconds, oldest first", () => {
  const series = sampled(1_000, () => {});
  const slice = series.slice(iris, 0);
  expect(slice?.atMs.length).toBe(900);
  expect([slice?.atMs[0], slice?.atMs.at(-1)]).toEqual([101_000, 1_000_000]);
});

test("a cold start is a later rise from no ready replica; a version's first replica is none", () => {
  const asleep = new Set([1, 2, 5, 6]);
  const series = sampled(8, (board, second) => {
    if (asleep.has(second)) board.remove("replica", `${iris}-0`);
    else board.put("replica", `${iris}-0`, aReport());
  });
  // Asleep in seconds 1-2 (never ready before) and 5-6: only the second rise counts.
  expect(series.coldStarts(iris)).toBe(1);
});

test("an endpoint that is gone leaves no series, a kept version no new points", () => {
  const series = sampled(4, (board, second) => {
    if (second === 3) board.put("rollout", "iris", aRollout([aRolledVersion({ phase: "kept", weight: 0 })]));
  });
  expect(series.slice(iris, 0)?.columns.readyReplicas).toEqual([0, 0, null, null]);
  const gone = sampled(4, (board, second) => {
    if (second === 3) board.remove("rollout", "iris");
  });
  expect([gone.slice(iris, 0), gone.slice("iris", 0)]).toEqual([null, null]);
});
