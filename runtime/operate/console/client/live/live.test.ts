import { describe, expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";
import { forgetProgress, noteProgress } from "./progress.ts";
import { addReadings, SPARK_POINTS, seedReadings, sparkPath } from "./sparks.ts";

test("tries double from half a second and stay within five", () => {
  expect([0, 1, 2, 3, 4, 1_000].map(backoffMs)).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
});

describe("progress of replicas", () => {
  const at = (progressTotal: number, epoch = 1) => [{ id: "r", epoch, progressTotal }];

  test("is dated from the look that saw it move, not from the first look", () => {
    const first = noteProgress(new Map(), at(7), 1_000);
    expect(first.get("r")?.movedAtMs).toBeNull();
    const moved = noteProgress(first, at(8), 2_000);
    expect(moved.get("r")?.movedAtMs).toBe(2_000);
    expect(noteProgress(moved, at(8), 3_000).get("r")?.movedAtMs).toBe(2_000);
  });

  test("begins anew with each start of the process", () => {
    const moved = noteProgress(noteProgress(new Map(), at(7), 1_000), at(8), 2_000);
    expect(noteProgress(moved, at(0, 2), 3_000).get("r")).toEqual({ total: 0, epoch: 2, movedAtMs: null });
  });

  test("is forgotten with its replica", () => {
    expect(forgetProgress(noteProgress(new Map(), at(7), 1_000), new Set()).size).toBe(0);
  });
});

describe("sparklines", () => {
  const endpoint = (name: string, qps: number) => ({ name, load: { qps } });

  test("keep the newest two minutes and drop endpoints that are gone", () => {
    let sparks = addReadings(new Map([["gone", [1]]]), [endpoint("iris", 0)]);
    for (let second = 1; second <= SPARK_POINTS; second++) sparks = addReadings(sparks, [endpoint("iris", second)]);
    expect([...sparks.keys()]).toEqual(["iris"]);
    expect(sparks.get("iris")).toHaveLength(SPARK_POINTS);
    expect(sparks.get("iris")?.[0]).toBe(1);
  });

  test("put what the region recorded before what the page saw", () => {
    expect(seedReadings(new Map([["iris", [3]]]), "iris", [1, null, 2]).get("iris")).toEqual([1, null, 2, 3]);
  });

  test("end at the right edge, with the highest reading at the top", () => {
    // 119 steps over 119 px: a point a pixel.
    expect(sparkPath([0, 5, 10, null], 119, 20)).toBe("116.0,20.0 117.0,10.0 118.0,0.0 119.0,20.0");
  });

  test("draw less than 1 QPS low: the top is never under 1", () => {
    expect(sparkPath([0.1], 119, 20)).toBe("119.0,18.0");
  });
});
