import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeLogLines } from "../contract/wire/log-file.ts";
import { readKeptLogs } from "./kept-logs.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "penstock-kept-logs-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 31, 12, 0, seconds));
const textOf = (line: { source: string; line: string }): string => `${line.source}: ${line.line}`;

test("lines of all files come back in the order they were written, each with its time and its process", () => {
  writeFileSync(join(dir, "iris-a-1.log"), encodeLogLines(["second"], at(2)) + encodeLogLines(["fourth"], at(4)));
  writeFileSync(join(dir, "router.log"), encodeLogLines(["third"], at(3)));
  writeFileSync(join(dir, "router.log.1"), encodeLogLines(["first"], at(1)));
  mkdirSync(join(dir, "a-folder"));
  const lines = readKeptLogs(dir);
  expect(lines.map(textOf)).toEqual(["router: first", "iris-a-1: second", "router: third", "iris-a-1: fourth"]);
  expect(lines[0]?.atMs).toBe(at(1).getTime());
});

test("of a long file the end is read, without the line that is cut", () => {
  const long = Array.from({ length: 2_000 }, (_, index) => `line ${index} ${"x".repeat(60)}`);
  writeFileSync(join(dir, "router.log"), encodeLogLines(long, at(1)));
  const lines = readKeptLogs(dir).map(({ line }) => line);
  // 32 KiB of lines of some 96 bytes.
  expect(lines.length).toBeGreaterThan(300);
  expect(lines.length).toBeLessThan(400);
  expect(lines).toEqual(long.slice(-lines.length));
});

test("a line without a time has that of the line before it, the first that of the file; one without an end is left", () => {
  const path = join(dir, "router.log");
  writeFileSync(path, `bare\n${encodeLogLines(["stamped"], at(2))}after\nnot ended`);
  utimesSync(path, at(1), at(1));
  expect(readKeptLogs(dir).map(({ line, atMs }) => [line, atMs])).toEqual([
    ["bare", at(1).getTime()],
    ["stamped", at(2).getTime()],
    ["after", at(2).getTime()],
  ]);
});

test("a region without a folder of logs has none", () => {
  expect(readKeptLogs(join(dir, "nothing"))).toEqual([]);
});
