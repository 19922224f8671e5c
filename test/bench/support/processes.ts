import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { descendantsOf, type TestRegion } from "../../e2e/region.ts";

/** Clock ticks per second in /proc/PID/stat. */
const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** A process and all below it. */
export function treeOf(pid: number): number[] {
  try {
    return [pid, ...descendantsOf(pid)];
  } catch {
    // One of them has ended.
    return [pid];
  }
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

/** The same with each page shared out among the processes that have it. */
export function proportionalMiBOf(pid: number): number {
  const line = /^Pss:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/smaps_rollup`));
  return Number(line?.[1] ?? 0) / 1_024;
}

/** Kinds of processes of a region. */
export type ProcessKind = "agent" | "controller" | "router" | "replicas";

/** CPU time of a region's processes by kind, as of each process's last sample. */
export class CpuByKind {
  readonly #region: TestRegion;
  readonly #seen = new Map<number, { readonly kind: ProcessKind; readonly startMs: number; lastMs: number }>();

  /** What the present processes have used so far is left out. */
  constructor(region: TestRegion) {
    this.#region = region;
    for (const [pid, kind] of this.#processes()) {
      const startMs = cpuMsOf(pid);
      this.#seen.set(pid, { kind, startMs, lastMs: startMs });
    }
  }

  /** Reads all processes that run now; must be called often enough to see each one before it ends. */
  sample(): void {
    for (const [pid, kind] of this.#processes()) {
      const seen = this.#seen.get(pid) ?? { kind, startMs: 0, lastMs: 0 };
      seen.lastMs = Math.max(seen.lastMs, cpuMsOf(pid));
      this.#seen.set(pid, seen);
    }
  }

  usedMs(kind: ProcessKind): number {
    const rows = [...this.#seen.values()].filter((row) => row.kind === kind);
    return rows.reduce((sum, row) => sum + row.lastMs - row.startMs, 0);
  }

  #processes(): [number, ProcessKind][] {
    const services = this.#region.children().flatMap(({ id, pid }): [number, ProcessKind][] => {
      const kind = id === "controller" || id === "router" ? id : "replicas";
      return treeOf(pid).map((member) => [member, kind]);
    });
    return [[this.#region.pid, "agent"], ...services];
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
