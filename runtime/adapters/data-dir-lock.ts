import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { UserError } from "../core/errors.ts";
import { makeFolder } from "./make-folder.ts";
import { explain } from "./stores/database.ts";

/** What the holder writes beside the lock, for the message to whoever comes second. */
export interface LockHolder {
  readonly pid: number;
  readonly startedAt: string;
}

/** SQLITE_BUSY (sqlite.org/rescode.html): another process holds the file. */
const BUSY = 5;

/**
 * Takes the data folder for one region; the returned function gives it back.
 * The lock is SQLite's own file lock, so the system frees it with the process, also on kill -9, and no stale lock can stay.
 * Errors: UserError naming the holder when another region runs on the folder, or when it can't be written or its disk is full.
 */
export function lockDataDir(dataDir: string, holder: LockHolder): () => void {
  const file = join(dataDir, "region.lock");
  const note = join(dataDir, "region.lock.json");
  let database: DatabaseSync | null = null;
  try {
    makeFolder(dataDir, 0o700);
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec("BEGIN EXCLUSIVE");
    writeFileSync(note, `${JSON.stringify(holder)}\n`);
  } catch (error) {
    database?.close();
    if ((error as { errcode?: number }).errcode === BUSY) throw heldBy(dataDir, note);
    throw explain(dataDir, error);
  }
  const held = database;
  return () => held.close();
}

function heldBy(dataDir: string, note: string): UserError {
  let who = "another region";
  try {
    const holder = JSON.parse(readFileSync(note, "utf8")) as LockHolder;
    who = `a region with process id ${holder.pid}, started ${holder.startedAt}`;
  } catch {
    // The note is for people only; without it the lock still stands.
  }
  return new UserError(
    "PENSTOCK_DATA_DIR_IN_USE",
    `The data folder ${dataDir} is in use by ${who}`,
    "Stop that region first, or start this one with another --data-dir.",
  );
}
