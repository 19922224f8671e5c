import { expect, test } from "vitest";
import { serviceFailure } from "./service-failure.ts";

const TOLD = JSON.stringify({
  level: "error",
  msg: "PENSTOCK_STATE_DAMAGED",
  why: "x can't be read",
  todo: "Restore it.",
});

test("a service that told why it ends has failed at its first start, with what it told", () => {
  const view = { state: "waiting" as const, failedStarts: 1, lastLog: ["before", TOLD] };
  expect(serviceFailure("controller", view, "logs")).toMatchObject({
    code: "PENSTOCK_STATE_DAMAGED",
    message: "x can't be read",
    todo: "Restore it.",
  });
});

test("one that just ends may try three times, and then its last error is told with where its log is", () => {
  const lastLog = ["TypeError: no such thing", "    at file.ts:1", "Node.js v24"];
  const after = (failedStarts: number) => serviceFailure("router", { state: "waiting", failedStarts, lastLog }, "logs");
  expect([after(0), after(1), after(2)]).toEqual([null, null, null]);
  expect(after(3)).toMatchObject({
    code: "PENSTOCK_REGION_NOT_STARTED",
    message: "The router ended at each of 3 starts: TypeError: no such thing",
    todo: "Read router.log in logs.",
  });
});

test("one that runs has not failed, whatever it logged before", () => {
  expect(serviceFailure("router", { state: "running", failedStarts: 0, lastLog: [TOLD] }, "logs")).toBe(null);
});
