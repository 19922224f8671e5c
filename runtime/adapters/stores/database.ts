import { accessSync, chmodSync, constants } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { UserError } from "../../core/errors.ts";
import { makeFolder } from "../make-folder.ts";

/**
 * The schema, one step an entry: a database at `user_version` n has had the first n applied. Steps are only ever added.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE facts (fact TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (fact, key)) STRICT, WITHOUT ROWID;
   CREATE TABLE kept (controller TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (controller, key)) STRICT, WITHOUT ROWID;
   CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE decisions (
     id INTEGER PRIMARY KEY AUTOINCREMENT, controller TEXT NOT NULL, key TEXT NOT NULL,
     atWallMs REAL NOT NULL, atMonoMs REAL NOT NULL, reason TEXT NOT NULL, inputs TEXT NOT NULL, output TEXT NOT NULL, replay TEXT
   ) STRICT;`,
];

/** FULL: on disk when a write returns, also over a power cut. NORMAL: over the end of the process, the last moments lost in a power cut. */
export type Durability = "FULL" | "NORMAL";

/** How long one writer waits for another: both are ours and write for milliseconds. */
const BUSY_WAIT_MS = 5_000;

/** SQLite's primary result codes that a person can do something about (sqlite.org/rescode.html). */
const RESULT = { readOnly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 } as const;

/**
 * Opens the region's state, makes or migrates it. WAL: a reader never waits, a kill at any instant loses no finished write.
 * Errors: UserError where the folder, the disk or the file is at fault.
 */
export function openDatabase(path: string, durability: Durability): DatabaseSync {
  return explained(path, () => {
    makeFolder(dirname(path));
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    const database = new DatabaseSync(path, { timeout: BUSY_WAIT_MS });
    try {
      // Specs hold environments, which hold secrets. SQLite gives its side files the rights of this one.
      chmodSync(path, 0o600);
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability}; PRAGMA wal_autocheckpoint = 1000`);
      migrate(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  });
}

function migrate(database: DatabaseSync, path: string): void {
  database.exec("BEGIN IMMEDIATE");
  const { user_version: version } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  if (version > MIGRATIONS.length) {
    throw new UserError(
      "PENSTOCK_STATE_TOO_NEW",
      `${path} has schema ${version}, this Penstock knows up to ${MIGRATIONS.length}`,
      "Run the newer Penstock that wrote it, or start with another --data-dir.",
    );
  }
  for (const step of MIGRATIONS.slice(version)) database.exec(step);
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
}

/** A prepared write whose failures are explained to people. */
export function writer(database: DatabaseSync, path: string, sql: string): (...values: SQLInputValue[]) => number {
  const statement = database.prepare(sql);
  return (...values) => explained(path, () => Number(statement.run(...values).lastInsertRowid));
}

/** A prepared read of rows, each through `read`, whose failures are explained to people; a value that is no JSON is one. */
export function reader<Row, T>(
  database: DatabaseSync,
  path: string,
  sql: string,
  read: (row: Row) => T,
): (...values: SQLInputValue[]) => T[] {
  const statement = database.prepare(sql);
  return (...values) => explained(path, () => (statement.all(...values) as Row[]).map(read));
}

/** Runs `work` on `path`; a failure of the disk, the folder or the file becomes a UserError, anything else stays a bug. */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explain(path, error);
  }
}

/**
 * What the file system says of a place that can't be written. EEXIST and EISDIR: a file stands where a folder must, or
 * the reverse; ENOENT: what Node says of a folder to be made on a read-only disk.
 */
const UNWRITABLE = new Set([
  "ENOENT",
  "EACCES",
  "EPERM",
  "EROFS",
  "ENOTDIR",
  "EEXIST",
  "EISDIR",
  "ELOOP",
  "ENAMETOOLONG",
]);

/** The UserError that a failure on `path` of the disk, the folder or the file comes to; any other error as it is. */
export function explain(path: string, error: unknown): unknown {
  const { code = "", errcode = 0, message } = error as NodeJS.ErrnoException & { errcode?: number };
  const because = `${path} (${message})`;
  const result = errcode & 0xff;
  if (result === RESULT.full || code === "ENOSPC" || code === "EDQUOT") {
    return new UserError(
      "PENSTOCK_DISK_FULL",
      `The disk is full: ${because}`,
      "Free some space; nothing that was saved is lost.",
    );
  }
  if (result === RESULT.corrupt || result === RESULT.notADatabase || error instanceof SyntaxError) {
    return new UserError(
      "PENSTOCK_STATE_DAMAGED",
      `The region's state can't be read: ${because}`,
      "Restore the file from a backup, or move it away and deploy the endpoints again.",
    );
  }
  if (UNWRITABLE.has(code) || result === RESULT.readOnly || result === RESULT.cannotOpen) {
    return new UserError(
      "PENSTOCK_DATA_DIR_NOT_WRITABLE",
      `The data folder can't be written: ${because}`,
      "Give write permission on it, or choose another with --data-dir.",
    );
  }
  if (result === RESULT.ioError) {
    return new UserError(
      "PENSTOCK_DISK_FAILED",
      `The disk failed: ${because}`,
      "Look at the system's log for disk errors.",
    );
  }
  return error;
}
