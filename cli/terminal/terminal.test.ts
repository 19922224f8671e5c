import { expect, test } from "vitest";
import { agoText, bytesText, durationText, latencyText, numberText } from "./format.ts";
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

test("durations, latencies, numbers and bytes are short and keep their unit", () => {
  expect([850, 2_440, 185_000, 7_800_000, 360_000_000].map(durationText)).toEqual([
    "850 ms",
    "2.4 s",
    "3m 05s",
    "2h 10m",
    "4d 4h",
  ]);
  expect([null, 0.1234, 12.345, 999.6, 12_345].map(latencyText)).toEqual([
    "-",
    "0.123 ms",
    "12.3 ms",
    "1000 ms",
    "12.3 s",
  ]);
  expect([null, 0, 1.25, 12_345.6].map(numberText)).toEqual(["-", "0", "1.3", "12,346"]);
  expect([null, 512, 98_362_432].map(bytesText)).toEqual(["-", "512 B", "93.8 MiB"]);
  expect([agoText(null, 0), agoText(0, 90_000), agoText(0, 5_400)]).toEqual(["-", "1m 30s ago", "5 s ago"]);
});
