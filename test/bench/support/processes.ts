import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { descendantsOf } from "../../e2e/region.ts";

/** Clock ticks per second in /proc/PID/stat. */
const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** A process and all below it. */
export function treeOf(pid: number): number[] {
  return [pid, ...descendantsOf(pid)];
}

/** CPU time that a process has used, in milliseconds; 0 for one that has ended. */
export function cpuMsOf(pid: number): number {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND) * 1_000;
}

/** Resident memory of a process in MiB; 0 for one that has ended. */
export function residentMiBOf(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readOrEmpty(`/proc/${pid}/status`));
  return Number(line?.[1] ?? 0) / 1_024;
}

/** CPU time of the children of a region by kind, in milliseconds: what each kind's processes had used when last seen. */
export class CpuByKind {
  readonly #seen = new Map<number, { readonly kind: string; readonly startMs: number; lastMs: number }>();

  /** Takes the processes that run now; one that is new counts from its start, `first` ones from now on. */
  sample(children: readonly { readonly id: string; readonly pid: number }[], { first = false } = {}): void {
    for (const { id, pid } of children) {
      const kind = id === "controller" || id === "router" ? id : "replicas";
      const nowMs = cpuMsOf(pid);
      const seen = this.#seen.get(pid);
      if (seen === undefined) this.#seen.set(pid, { kind, startMs: first ? nowMs : 0, lastMs: nowMs });
      else seen.lastMs = Math.max(seen.lastMs, nowMs);
    }
  }

  usedMs(kind: string): number {
    const rows = [...this.#seen.values()].filter((row) => row.kind === kind);
    return rows.reduce((sum, row) => sum + row.lastMs - row.startMs, 0);
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended.
    return "";
  }
}
