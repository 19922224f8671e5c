import { expect, test } from "vitest";
import { parseQuantity } from "./quantity.ts";

test.each([
  ["2", 2],
  ["1500m", 1.5],
  ["0.5", 0.5],
  [".5", 0.5],
  ["64Mi", 67_108_864],
  ["3E", 3e18],
  ["2e3", 2_000],
  ["1e3Ki", 1_024_000],
])("%s is %d", (text, value) => {
  expect(parseQuantity(text)).toBeCloseTo(value, 9);
});

test.each(["", "m", "1.2.3", "5 Mi", "5mi"])("%j is refused", (text) => {
  expect(() => parseQuantity(text)).toThrow("is no quantity");
});
