import type { DatabaseSync } from "node:sqlite";
import type { Plain } from "../../core/controller.ts";
import type { WallMs } from "../../core/time.ts";
import type { DecisionLog, DecisionRecord, KeptStore, LoggedDecision, SpecStore } from "../../ports/stores.ts";
import { openDatabase, reader, writer } from "./database.ts";

/** Bounds of the decision log: the newest are kept, and only the newest of those can be replayed, since a world is kilobytes. */
export interface DecisionBounds {
  readonly maxRecords: number;
  readonly maxReplays: number;
}

const DEFAULT_BOUNDS: DecisionBounds = { maxRecords: 50_000, maxReplays: 5_000 };

/** The stores of a region, in one SQLite file. */
export interface RegionStores {
  readonly specs: SpecStore;
  readonly kept: KeptStore;
  readonly decisions: DecisionLog;
  close(): void;
}

/**
 * Opens `path`: specs on a connection whose writes survive a power cut, the rest on one that survives the end of the process.
 * Errors: UserError (full disk, read-only folder, damaged or newer file), here and on each write.
 */
export function openStores(path: string, bounds: DecisionBounds = DEFAULT_BOUNDS): RegionStores {
  const durable = openDatabase(path, "FULL");
  const quick = openDatabase(path, "NORMAL");
  return {
    specs: specStore(durable, path),
    kept: keptStore(quick, path),
    decisions: decisionLog(quick, path, bounds),
    close: () => {
      durable.close();
      quick.close();
    },
  };
}

function specStore(database: DatabaseSync, path: string): SpecStore {
  const select = reader(
    database,
    path,
    "SELECT key, value FROM facts WHERE fact = ? ORDER BY key",
    ({ key, value }: { key: string; value: string }) => ({ key, value: JSON.parse(value) as Plain }),
  );
  const put = writer(database, path, "INSERT OR REPLACE INTO facts (fact, key, value) VALUES (?, ?, ?)");
  const remove = writer(database, path, "DELETE FROM facts WHERE fact = ? AND key = ?");
  const count = writer(
    database,
    path,
    "INSERT INTO counters (name, value) VALUES ('incarnation', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
  );
  const counted = reader(
    database,
    path,
    "SELECT value FROM counters WHERE name = 'incarnation'",
    ({ value }: { value: number }) => value,
  );
  return {
    load: select,
    put: (fact, key, value) => void put(fact, key, JSON.stringify(value)),
    remove: (fact, key) => void remove(fact, key),
    nextIncarnation: () => {
      count();
      const [value = 1] = counted();
      return value;
    },
  };
}

function keptStore(database: DatabaseSync, path: string): KeptStore {
  const select = reader(
    database,
    path,
    "SELECT value FROM kept WHERE controller = ? AND key = ?",
    ({ value }: { value: string }) => JSON.parse(value) as Plain,
  );
  const put = writer(database, path, "INSERT OR REPLACE INTO kept (controller, key, value) VALUES (?, ?, ?)");
  const remove = writer(database, path, "DELETE FROM kept WHERE controller = ? AND key = ?");
  return {
    get: (controller, key) => select(controller, key)[0] ?? null,
    put: (controller, key, kept) => void put(controller, key, JSON.stringify(kept)),
    remove: (controller, key) => void remove(controller, key),
  };
}

interface DecisionRow {
  readonly id: number;
  readonly controller: string;
  readonly key: string;
  readonly atWallMs: number;
  readonly atMonoMs: number;
  readonly reason: string;
  readonly inputs: string;
  readonly output: string;
}

/** How many appends pass between two trims: one range delete then costs microseconds each. */
const TRIM_EVERY = 100;

function decisionLog(database: DatabaseSync, path: string, bounds: DecisionBounds): DecisionLog {
  const insert = writer(
    database,
    path,
    "INSERT INTO decisions (controller, key, atWallMs, atMonoMs, reason, inputs, output, replay) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const trim = writer(database, path, "DELETE FROM decisions WHERE id <= ?");
  const slim = writer(
    database,
    path,
    "UPDATE decisions SET replay = NULL WHERE id <= ? AND id > ? AND replay NOT NULL",
  );
  // A world is kilobytes: a list only asks whether there is one.
  const select = reader(
    database,
    path,
    `SELECT id, controller, key, atWallMs, atMonoMs, reason, inputs, output, replay NOT NULL AS replayable FROM decisions
     WHERE (?1 IS NULL OR controller = ?1) AND (?2 IS NULL OR key = ?2) AND (?3 IS NULL OR id < ?3)
     ORDER BY id DESC LIMIT ?4`,
    (row: DecisionRow & { readonly replayable: number }): LoggedDecision => ({
      ...parseRow(row),
      replayable: row.replayable === 1,
    }),
  );
  const one = reader(
    database,
    path,
    "SELECT * FROM decisions WHERE id = ?",
    (row: DecisionRow & { readonly replay: string | null }) => ({
      ...parseRow(row),
      replay: row.replay === null ? null : (JSON.parse(row.replay) as DecisionRecord["replay"]),
    }),
  );
  return {
    append: (record) => {
      const { controller, key, atWallMs, atMonoMs, reason, inputs, output, replay } = record;
      const [inputsText, outputText] = [JSON.stringify(inputs), JSON.stringify(output)];
      const replayText = replay && JSON.stringify(replay);
      const id = insert(controller, key, atWallMs, atMonoMs, reason, inputsText, outputText, replayText);
      if (id % TRIM_EVERY === 0) {
        trim(id - bounds.maxRecords);
        slim(id - bounds.maxReplays, id - bounds.maxReplays - 2 * TRIM_EVERY);
      }
      return id;
    },
    list: ({ controller, key, beforeId, limit }) => select(controller ?? null, key ?? null, beforeId ?? null, limit),
    get: (id) => one(id)[0] ?? null,
  };
}

function parseRow(row: DecisionRow): Omit<LoggedDecision, "replayable"> {
  return {
    ...row,
    atWallMs: row.atWallMs as WallMs,
    inputs: JSON.parse(row.inputs) as DecisionRecord["inputs"],
    output: JSON.parse(row.output) as Plain,
  };
}
