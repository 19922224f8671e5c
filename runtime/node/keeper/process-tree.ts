import { readdirSync, readFileSync } from "node:fs";

/** Linux counts CPU time in 1/100 s for user space on every platform Node runs on. */
const MS_PER_TICK = 10;
const PAGE_BYTES = 4096;

/** What /proc says of one process. */
export interface ProcessTimes {
  /** CPU time of its own and of children it has waited for. */
  readonly cpuMs: number;
  readonly residentBytes: number;
}

/** Reads /proc/PID/stat, or null where the process is gone. */
export function readProcessTimes(pid: number): ProcessTimes | null {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}

/** Parses a line of /proc/PID/stat; the command's name may hold blanks and brackets. */
export function parseProcessStat(line: string): ProcessTimes {
  // Field 3 of proc(5) is the first one after the name's closing bracket.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const field = (number: number): number => Number(fields[number - 3] ?? 0);
  return {
    cpuMs: (field(14) + field(15) + field(16) + field(17)) * MS_PER_TICK,
    residentBytes: field(24) * PAGE_BYTES,
  };
}

/** All processes below `roots`, the roots left out. */
export function descendantsOf(roots: readonly number[]): number[] {
  const found: number[] = [];
  const open = [...roots];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const child of childrenOf(pid)) {
      found.push(child);
      open.push(child);
    }
  }
  return found;
}

/** Sends a signal to all below `roots`, then to `roots` (which may be this process); those gone already are left out. */
export function killTree(roots: readonly number[], signal: "SIGTERM" | "SIGKILL"): void {
  for (const pid of [...descendantsOf(roots), ...roots]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended in between.
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
