import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import type { Machine } from "../../domain/replica.ts";
import { bootId } from "./process-table.ts";

/** What this machine has to give, within the limits of the control group that this process is in. */
export function readMachine(): Machine {
  const limitBytes = process.constrainedMemory();
  return {
    cpuCount: Math.min(availableParallelism(), cpuQuota() ?? Number.POSITIVE_INFINITY),
    // Without a limit the kernel gives 0 or a number past all memory.
    memoryBytes: limitBytes > 0 ? Math.min(limitBytes, totalmem()) : totalmem(),
    memoryAvailableBytes: process.availableMemory(),
    bootId: bootId(),
  };
}

/** CPUs' worth of time that the control group may use, or null without such a limit (cgroup v2 cpu.max, v1 cfs quota). */
function cpuQuota(): number | null {
  const [quota = "max", period = "100000"] = (readText("/sys/fs/cgroup/cpu.max") ?? "").trim().split(" ");
  if (quota !== "max" && quota !== "") return Number(quota) / Number(period);
  const quotaV1 = Number(readText("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") ?? -1);
  const periodV1 = Number(readText("/sys/fs/cgroup/cpu/cpu.cfs_period_us") ?? 100_000);
  return quotaV1 > 0 ? quotaV1 / periodV1 : null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
