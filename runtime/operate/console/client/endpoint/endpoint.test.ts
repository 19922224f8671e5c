import { describe, expect, test } from "vitest";
import type { SeriesColumn } from "../../../series/columns.ts";
import { SERIES_COLUMNS } from "../../../series/columns.ts";
import type { SeriesSlice } from "../../../series/series.ts";
import { axisTop, CHARTS, lonePoints, niceCeiling, timeSpan, withoutRestingZeros } from "./chart-spec.ts";
import { lastExitText, progressText } from "./replica-text.ts";
import { appendAnswer, newestMs } from "./series-ring.ts";
import { draftOf, hasPredecessor, problemOf, trafficOf } from "./split.ts";

/** A slice whose every column holds the seconds themselves. */
function sliceOf(...seconds: number[]): SeriesSlice {
  const columns = Object.fromEntries(SERIES_COLUMNS.map((name) => [name, seconds])) as Record<SeriesColumn, number[]>;
  return { atMs: seconds.map((second) => second * 1_000) as SeriesSlice["atMs"] & number[], columns };
}

describe("the series held", () => {
  test("grow by the points that are new, however the pieces overlap", () => {
    const first = appendAnswer(new Map(), "iris", { endpoint: sliceOf(1, 2), versions: { v: sliceOf(2) } });
    const second = appendAnswer(first, "iris", { endpoint: sliceOf(2, 3), versions: {} });
    expect(second.get("iris")?.columns.qps).toEqual([1, 2, 3]);
    expect(second.get("v")?.columns.qps).toEqual([2]);
    expect(newestMs(second)).toBe(3_000);
  });

  test("hold 15 minutes and no more", () => {
    const long = sliceOf(...Array.from({ length: 900 }, (_, index) => index + 1));
    const held = appendAnswer(new Map([["iris", long]]), "iris", { endpoint: sliceOf(901), versions: {} });
    expect(held.get("iris")?.atMs).toHaveLength(900);
    expect(held.get("iris")?.columns.qps[0]).toBe(2);
  });

  test("ask for everything while nothing is held", () => {
    expect(newestMs(new Map())).toBe(0);
  });
});

describe("charts", () => {
  test("end at round numbers", () => {
    expect([0.3, 1, 1.1, 2.1, 2.6, 5.1, 61, 999].map(niceCeiling)).toEqual([0.5, 1, 2, 2.5, 5, 10, 100, 1_000]);
  });

  test("leave air above the highest value and are never flat", () => {
    const [requests] = CHARTS;
    if (requests === undefined) throw new Error("no chart");
    expect(axisTop(requests, null)).toBe(1);
    expect(axisTop(requests, 100)).toBe(200);
  });

  test("span what is known, from two to fifteen minutes", () => {
    expect(timeSpan(990, 1_000)).toEqual([880, 1_000]);
    expect(timeSpan(700, 1_000)).toEqual([700, 1_000]);
    expect(timeSpan(0, 1_000)).toEqual([100, 1_000]);
  });

  test("mark a value that no line leads to or from", () => {
    expect(lonePoints([7, null, null, 3, 4, null, 5])).toEqual([0, 6]);
  });

  test("show a rare line only around where it is not 0", () => {
    expect(withoutRestingZeros([0, 0, 3, 0, 0, null, 0])).toEqual([null, 0, 3, 0, null, null, null]);
  });
});

describe("a split as it is typed", () => {
  const versions = [
    { id: "a", phase: "serving", weight: 90 },
    { id: "b", phase: "kept", weight: 10 },
    { id: "c", phase: "failed", weight: 0 },
  ] as const;

  test("starts from the present shares of versions that can serve", () => {
    expect(draftOf(versions)).toEqual({ a: 90, b: 10 });
  });

  test("is sent without the versions that get nothing", () => {
    expect(trafficOf({ a: 100, b: 0 })).toEqual({ kind: "split", parts: [{ version: "a", percent: 100 }] });
  });

  test("says what is wrong before it is sent", () => {
    expect(problemOf({ a: 60, b: 40 })).toBeNull();
    expect(problemOf({ a: 60, b: 30 })).toBe("The shares sum to 90 %; they must sum to 100 %.");
    expect(problemOf({ a: Number.NaN, b: 100 })).toBe("Each share is a whole number from 0 to 100.");
  });
});

test("there is something to roll back to once a second version has served, or while the next is staged", () => {
  const phases = (...list: ("serving" | "staging" | "kept" | "failed")[]) => list.map((phase) => ({ phase }));
  expect(hasPredecessor(phases("serving"))).toBe(false);
  expect(hasPredecessor(phases("serving", "failed"))).toBe(false);
  expect(hasPredecessor(phases("serving", "kept"))).toBe(true);
  expect(hasPredecessor(phases("serving", "staging"))).toBe(true);
});

describe("a replica's words", () => {
  test("name the signal or the code of its last exit", () => {
    const at = { atMs: 1_000 as never };
    expect(lastExitText({ code: 1, signal: null, ...at }, 4_000)).toBe("exit 1, 3 s ago");
    expect(lastExitText({ code: null, signal: "SIGKILL", ...at }, 4_000)).toBe("SIGKILL, 3 s ago");
    expect(lastExitText(null, 4_000)).toBe("-");
  });

  test("tell work that does not progress from rest", () => {
    const moved = { total: 5, epoch: 1, movedAtMs: 10_000 };
    expect(progressText(1, moved, 11_000)).toBe("now");
    expect(progressText(1, moved, 30_000)).toBe("20 s ago");
    expect(progressText(0, moved, 30_000)).toBe("idle");
    expect(progressText(2, undefined, 30_000)).toBe("none yet");
    expect(progressText(null, undefined, 30_000)).toBe("-");
  });
});
