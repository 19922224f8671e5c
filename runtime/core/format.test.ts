import { expect, test } from "vitest";
import { agoText, bytesText, durationText, latencyText, momentText, numberText } from "./format.ts";

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

test("a moment of another day has its date before it", () => {
  const noon = new Date(2026, 0, 31, 12, 4, 31).getTime();
  expect(momentText(noon, noon + 3_600_000)).toBe("12:04:31");
  expect(momentText(noon, noon + 86_400_000)).toBe("2026-01-31 12:04:31");
});
