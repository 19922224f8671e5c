import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../ports/clock.ts";

/** How often a waiting process looks again: short beside any download or build that is waited for. */
const LOOK_AGAIN_MS = 250;

/**
 * Runs `work` while no other process on this machine runs under the same lock file; waits for its turn.
 * The lock is SQLite's own file lock, so the system frees it when the holder dies, also by kill -9.
 * `onWait` is called once if another process holds it. Errors: the signal's reason when aborted while waiting.
 */
export async function exclusively<T>(
  lockFile: string,
  options: { readonly clock: Clock; readonly signal: AbortSignal; onWait(): void },
  work: () => Promise<T>,
): Promise<T> {
  await mkdir(dirname(lockFile), { recursive: true });
  const database = new DatabaseSync(lockFile);
  try {
    let waited = false;
    while (!tryLock(database)) {
      if (!waited) options.onWait();
      waited = true;
      await pause(options.clock, LOOK_AGAIN_MS, options.signal);
    }
    return await work();
  } finally {
    database.close();
  }
}

/** Resolves after `delayMs` of the clock. Errors: the signal's reason, at once, when aborted. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    const SQLITE_BUSY = 5;
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
