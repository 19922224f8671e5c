import { expect, it } from "vitest";
import { specOf, versionOf } from "../../../test/support/specs.ts";
import { computeStagingBudgetMs, longerLoads } from "./budget.ts";

/** An ONNX version of 1 MB. */
const version = versionOf(specOf("iris"));
const load = (startupMs: number, sizeBytes = 1_000_000) => ({ runtime: "onnx" as const, startupMs, sizeBytes });

it.each([
  ["three times the longest measured load", [load(40_000)], 120_000],
  ["in proportion to the size where it is larger", [load(40_000, 500_000)], 240_000],
  ["never less for a smaller one", [load(40_000, 100_000_000)], 120_000],
  ["a minute at least", [load(1_000)], 60_000],
  ["half an hour at most", [load(3_600_000)], 1_800_000],
  ["ten minutes where nothing of its runtime was measured", [{ ...load(1_000), runtime: "gguf" as const }], 600_000],
  ["ten minutes where what was measured is over ten times smaller", [load(1_000, 99_999)], 600_000],
])("a version may stage for %s", (_what, measured, budgetMs) => {
  expect(computeStagingBudgetMs(version, measured)).toBe(budgetMs);
});

it("of two measured loads of a runtime the longer one counts, in the order of the runtimes", () => {
  const gguf = { ...load(5), runtime: "gguf" as const };
  expect(longerLoads([load(3)], [load(2), gguf])).toEqual([gguf, load(3)]);
  expect(longerLoads([load(2), gguf], [load(3)])).toEqual([gguf, load(3)]);
});
