import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { descendantsOf, killTree, parseProcessStat } from "./process-tree.ts";
import { parseThrottledMs, ResourceSampler } from "./resources.ts";

test("a process's line is read past a name with blanks and brackets", () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index + 3));
  // Fields 14 to 17 are CPU ticks of 10 ms, 24 is pages of 4 KiB; here each holds its number.
  expect(parseProcessStat(`7 (a) b (c)) ${fields.join(" ")}`)).toEqual({
    cpuMs: (14 + 15 + 16 + 17) * 10,
    residentBytes: 24 * 4096,
  });
});

test("throttling is read from cpu.stat, and is 0 where the kernel keeps none", () => {
  expect(parseThrottledMs("usage_usec 5\nnr_throttled 2\nthrottled_usec 1500\n")).toBe(1.5);
  expect(parseThrottledMs("usage_usec 5\n")).toBe(0);
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
