import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { descendantsOf, killTree, parseAuxiliaryVector, parseProcessStat } from "./process-tree.ts";
import { parseThrottledMs, ResourceSampler } from "./resources.ts";

test("a process's line is read past a name with blanks and brackets", () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index + 3));
  // Fields 14 to 17 are CPU ticks, 24 is pages; here each holds its number.
  const units = { pageBytes: 65_536, tickMs: 10 };
  expect(parseProcessStat(`7 (a) b (c)) ${fields.join(" ")}`, units)).toEqual({
    cpuMs: (14 + 15 + 16 + 17) * 10,
    residentBytes: 24 * 65_536,
  });
});

test("the kernel's page size and clock tick are what getconf says", () => {
  const getconf = (name: string) => Number(execFileSync("getconf", [name], { encoding: "utf8" }));
  expect(parseAuxiliaryVector(readFileSync("/proc/self/auxv"))).toEqual({
    pageBytes: getconf("PAGESIZE"),
    tickMs: 1_000 / getconf("CLK_TCK"),
  });
  expect(() => parseAuxiliaryVector(Buffer.alloc(32))).toThrow("no page size");
});

test("a sample's resident memory is what the kernel says of the process in bytes", () => {
  const { residentBytes } = new ResourceSampler(null).sample([process.pid]);
  const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  // The two readings are a moment apart, and the kernel sums per-CPU counts lazily; a wrong page size is off by four times.
  expect(residentBytes / (kib * 1024)).toBeGreaterThan(0.7);
  expect(residentBytes / (kib * 1024)).toBeLessThan(1.4);
});

test("throttling is read from cpu.stat, and is unknown where the kernel keeps none", () => {
  expect(parseThrottledMs("usage_usec 5\nnr_throttled 2\nthrottled_usec 1500\n")).toBe(1.5);
  expect(parseThrottledMs("usage_usec 5\n")).toBeNull();
});

test("grandchildren are found and end with the tree", async () => {
  const shell = spawn("sh", ["-c", "sleep 1000 & echo up; wait"], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => shell.once("exit", resolve));
  await new Promise((resolve) => shell.stdout.once("data", resolve));
  const below = descendantsOf([shell.pid!]);
  expect(below).toHaveLength(1);
  expect(descendantsOf([process.pid])).toEqual(expect.arrayContaining([shell.pid, ...below]));
  killTree([shell.pid!], "SIGKILL");
  await ended;
  await expect.poll(() => descendantsOf([process.pid])).not.toContain(below[0]);
});

test("counters never shrink when a process is gone", () => {
  const sampler = new ResourceSampler(1024);
  const own = sampler.sample([process.pid, process.pid]);
  expect(own.residentBytes).toBeGreaterThan(10_000_000);
  expect(own.memoryLimitBytes).toBe(1024);
  const gone = sampler.sample([]);
  expect(gone.cpuMsTotal).toBe(own.cpuMsTotal);
  expect(gone.residentBytes).toBe(0);
});
