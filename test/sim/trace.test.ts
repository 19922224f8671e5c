import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, it } from "vitest";
import { readTrace } from "./trace.ts";

const folder = mkdtempSync(join(tmpdir(), "penstock-trace-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(name: string, bytes: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const requests = [
  "TIMESTAMP,ContextTokens,GeneratedTokens",
  "2023-11-16 23:59:59.9000000,4808,10",
  "2023-11-17 00:00:00.1000000,3180,8",
  "2023-11-17 00:00:02.9000000,110,27",
].join("\n");

it.each([
  ["rows of seconds", "counted.csv", "second,requests\n0,2\n3,1\n"],
  ["a row for each request, by the time since the first one", "rows.csv", requests],
  ["the same, gzipped and without a last newline", "rows.csv.gz", gzipSync(requests)],
])("reads %s", (_what, name, bytes) => {
  const trace = readTrace(fileOf(name, bytes));
  expect(trace.countBySecond).toEqual([2, 0, 0, 1]);
  expect([0, 999, 1_000, 3_500, 4_000].map(trace.rate(10))).toEqual([20, 20, 0, 10, 0]);
});

it("names the line that does not begin with a time", () => {
  expect(() => readTrace(fileOf("bad.csv", "second,requests\n0,2\nlate,1\n"))).toThrow("line 3");
});
