import { expect, test } from "vitest";
import { styleFor, wantsColour } from "./style.ts";
import { renderTable } from "./table.ts";

interface Row {
  readonly name: string;
  readonly count: string;
  readonly why: string;
}
const columns = [
  { head: "NAME", cell: (row: Row) => row.name },
  { head: "N", cell: (row: Row) => row.count, align: "right" as const },
  { head: "WHY", cell: (row: Row) => row.why },
];

test("columns are aligned, numbers to the right, and only the last one is cut to the width", () => {
  const rows = [
    { name: "a", count: "5", why: "short" },
    { name: "longer", count: "1,000", why: "a reason that is longer than the line" },
  ];
  expect(renderTable(rows, columns, { width: 30 })).toEqual([
    "NAME        N  WHY",
    "a           5  short",
    "longer  1,000  a reason that…",
  ]);
  expect(renderTable(rows, columns, { width: null })[2]).toContain("longer than the line");
});

test("paint does not disturb the alignment, and a cell's own control characters are taken out", () => {
  const style = styleFor(true);
  const painted = columns.map((column, index) => (index === 0 ? { ...column, paint: () => style.good } : column));
  const lines = renderTable([{ name: "a\u001b[2J", count: "1", why: "x\ny" }], painted, { width: null });
  expect(lines[1]).toBe("\u001b[32ma [2J\u001b[0m  1  x y");
});

test("colour is for terminals, unless the environment says otherwise", () => {
  expect(wantsColour({}, true)).toBe(true);
  expect(wantsColour({}, false)).toBe(false);
  expect(wantsColour({ NO_COLOR: "1" }, true)).toBe(false);
  expect(wantsColour({ TERM: "dumb" }, true)).toBe(false);
  expect(wantsColour({ FORCE_COLOR: "1" }, false)).toBe(true);
});
