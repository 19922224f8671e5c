import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const names = ["name", "model", "runtime", "concurrency", "queue"];

test.each([
  ["concurency", "concurrency"], // A letter left out.
  ["modle", "model"], // Two letters swapped.
  ["RunTime", "runtime"], // Case alone.
  ["queues", "queue"], // A letter too many.
  ["colour", null], // Five of six letters would have to change.
  ["", null],
])("%j most likely means %j", (typed, meant) => {
  expect(nearestName(typed, names)).toBe(meant);
});
