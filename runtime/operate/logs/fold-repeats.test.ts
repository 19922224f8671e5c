import fc from "fast-check";
import { expect, test } from "vitest";
import { foldRepeats, timesText } from "./fold-repeats.ts";

const start = (port: number) => [`listening at port ${port}`, "loading weights", "Error: no such layer"];

test("a crash loop's lines are shown once, as they came last, with how often they came", () => {
  const lines = [41, 42, 43, 44, 45, 46].flatMap(start);
  const folded = foldRepeats(lines);
  expect(folded).toEqual([{ lines: start(46), times: 6, mayBeMore: true }]);
  expect(folded.map(timesText)).toEqual(["(these 3 lines, at least 6 times)"]);
});

test("a first round of which only the end is kept counts as one", () => {
  const lines = [...start(41).slice(1), ...start(42), ...start(43)];
  expect(foldRepeats(lines)).toEqual([{ lines: start(43), times: 3, mayBeMore: true }]);
});

test("one round and the end of the one before are two rounds", () => {
  expect(foldRepeats([...start(41).slice(2), ...start(42)])).toEqual([{ lines: start(42), times: 2, mayBeMore: true }]);
});

test("what stands before, between and after repeats stays where it is", () => {
  expect(foldRepeats(["begin", "retry 1", "retry 2", "retry 3", "done"])).toEqual([
    { lines: ["begin"], times: 1, mayBeMore: true },
    { lines: ["retry 3"], times: 3, mayBeMore: false },
    { lines: ["done"], times: 1, mayBeMore: false },
  ]);
  expect(foldRepeats(["a", "b", "c"])).toEqual([{ lines: ["a", "b", "c"], times: 1, mayBeMore: true }]);
  expect(foldRepeats([])).toEqual([]);
});

test("no kind of line is lost or made up, and lines that all differ stay as they are", () => {
  const kinds = (lines: readonly string[]) => new Set(lines.map((line) => line.replace(/\d+/g, "0")));
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "b", "c 1", "c 2", "d"), { maxLength: 20 }), (lines) => {
      const folded = foldRepeats(lines);
      expect(kinds(folded.flatMap((block) => block.lines))).toEqual(kinds(lines));
      const most = folded.reduce((sum, block) => sum + block.lines.length * block.times, 0);
      expect(most).toBeGreaterThanOrEqual(lines.length);
    }),
  );
});
