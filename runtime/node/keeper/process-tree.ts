import { readdirSync, readFileSync } from "node:fs";

/** Units in which a kernel counts for user space. */
export interface KernelUnits {
  readonly pageBytes: number;
  readonly tickMs: number;
}

/** Types of entries in a process's auxiliary vector (getauxval(3)). */
const AT_PAGESZ = 6n;
const AT_CLKTCK = 17n;

/** What /proc says of one process. */
export interface ProcessTimes {
  /** CPU time of its own and of children it has waited for. */
  readonly cpuMs: number;
  readonly residentBytes: number;
}

/** Reads /proc/PID/stat, or null where the process is gone. */
export function readProcessTimes(pid: number): ProcessTimes | null {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, "utf8"), kernelUnits());
  } catch {
    return null;
  }
}

/** Parses a line of /proc/PID/stat; the command's name may hold blanks and brackets. */
export function parseProcessStat(line: string, { pageBytes, tickMs }: KernelUnits): ProcessTimes {
  // Field 3 of proc(5) is the first one after the name's closing bracket.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const field = (number: number): number => Number(fields[number - 3] ?? 0);
  return {
    cpuMs: (field(14) + field(15) + field(16) + field(17)) * tickMs,
    residentBytes: field(24) * pageBytes,
  };
}

let units: KernelUnits | null = null;

/** This kernel's units: pages are 4, 16 or 64 KiB by machine and kernel. Errors: Error where /proc does not tell. */
function kernelUnits(): KernelUnits {
  units ??= parseAuxiliaryVector(readFileSync("/proc/self/auxv"));
  return units;
}

/** Reads the units out of an auxiliary vector of a 64-bit little-endian machine: pairs of type and value. */
export function parseAuxiliaryVector(vector: Buffer): KernelUnits {
  const values = new Map<bigint, number>();
  for (let at = 0; at + 16 <= vector.length; at += 16) {
    values.set(vector.readBigUInt64LE(at), Number(vector.readBigUInt64LE(at + 8)));
  }
  const pageBytes = values.get(AT_PAGESZ);
  const ticksPerSecond = values.get(AT_CLKTCK);
  if (!pageBytes || !ticksPerSecond) throw new Error("the auxiliary vector tells no page size or no clock tick");
  return { pageBytes, tickMs: 1_000 / ticksPerSecond };
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
