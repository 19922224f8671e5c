import { readFileSync } from "node:fs";

/** Tells one process from a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Boot of the machine and start in clock ticks since then, as the kernel says; null where it does not say (not Linux). */
  readonly started: string | null;
}

/** Identity of a live process, or null when there is none with that id. Cost: two small reads of /proc. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  if (!isAlive(pid)) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold spaces; after it `starttime` is the 20th field (proc_pid_stat(5): field 22).
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return { pid, started: `${bootId()}/${ticks}` };
  } catch {
    return { pid, started: null };
  }
}

/** Random id of the machine's current boot, or "unknown" where the kernel does not say. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}

/** Sends a signal to a process group; one that is gone is no error. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leaderPid, signal);
  } catch {
    // ESRCH: the group is gone already, which is what a signal to it is for.
  }
}

/** Whether a process group has members. */
export function groupExists(leaderPid: number): boolean {
  return isAlive(-leaderPid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
