import { spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserError } from "../../core/errors.ts";
import { asWallMs } from "../../core/time.ts";
import type { DecisionRecord } from "../../ports/stores.ts";
import { openDatabase, writer } from "./database.ts";
import { openStores } from "./sqlite.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-state-"));
  path = join(folder, "state.sqlite");
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

const decision = (key: string, count: number): DecisionRecord => ({
  controller: "autoscaler",
  key,
  atWallMs: asWallMs(count),
  atMonoMs: count,
  reason: "hold: steady",
  inputs: { count },
  output: null,
  replay: { world: { count }, memory: null },
});

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as UserError).code;
  }
  return "no error";
};

test("what was put is there after closing and opening again", () => {
  const first = openStores(path);
  first.specs.put("spec", "b", { n: 2 });
  first.specs.put("spec", "a", { n: 1 });
  first.specs.put("keys", "a", [true]);
  first.specs.put("spec", "c", null);
  first.specs.remove("spec", "c");
  first.kept.put("autoscaler", "a-1", { target: 3.5 });
  const incarnations = [first.specs.nextIncarnation(), first.specs.nextIncarnation()];
  first.close();
  const second = openStores(path);
  expect(second.specs.load("spec")).toEqual([
    { key: "a", value: { n: 1 } },
    { key: "b", value: { n: 2 } },
  ]);
  expect(second.kept.get("autoscaler", "a-1")).toEqual({ target: 3.5 });
  expect(second.kept.get("autoscaler", "other")).toBeNull();
  expect([...incarnations, second.specs.nextIncarnation()]).toEqual([1, 2, 3]);
  second.close();
});

test("decisions come newest first, by controller, key and page", () => {
  const stores = openStores(path);
  for (let count = 0; count < 6; count++) stores.decisions.append(decision(count % 2 ? "odd" : "even", count));
  const countsOf = (filter: Parameters<typeof stores.decisions.list>[0]): unknown[] =>
    stores.decisions.list(filter).map((record) => record.inputs.count);
  expect(countsOf({ limit: 3 })).toEqual([5, 4, 3]);
  expect(countsOf({ key: "odd", limit: 9 })).toEqual([5, 3, 1]);
  expect(countsOf({ controller: "fleet", limit: 9 })).toEqual([]);
  const page = stores.decisions.list({ limit: 2 });
  expect(countsOf({ beforeId: page[1]?.id ?? 0, limit: 2 })).toEqual([3, 2]);
  expect(stores.decisions.get(page[0]?.id ?? 0)).toEqual({ id: page[0]?.id, ...decision("odd", 5) });
  expect(stores.decisions.get(999)).toBeNull();
  stores.close();
});

test("the decision log stays bounded, and older records lose their replay first", () => {
  const stores = openStores(path, { maxRecords: 300, maxReplays: 50 });
  for (let count = 1; count <= 1_000; count++) stores.decisions.append(decision("k", count));
  const all = stores.decisions.list({ limit: 10_000 });
  // Trimmed each 100 appends, so up to 99 more than the bound may stand; 1,000 is such a moment.
  expect(all).toHaveLength(300);
  expect(all.filter((record) => record.replayable).map((record) => record.inputs.count)).toEqual(
    Array.from({ length: 50 }, (_, index) => 1_000 - index),
  );
  stores.close();
});

test("a writer killed at any instant loses nothing that it had acknowledged", { timeout: 60_000 }, async () => {
  // 12 kills, from within the first writes to after a WAL checkpoint: at 9 pages a line its 1,000 pages are there by line 111.
  const depths = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233];
  for (const [index, depth] of depths.entries()) {
    const acknowledged = await runUntilKilled(path, depth);
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
    const stores = openStores(path);
    const spec = stores.specs.load("spec")[0]?.value as { incarnation: number; count: number };
    const kept = stores.kept.get("autoscaler", "iris-1") as { incarnation: number; count: number };
    const last = stores.decisions.list({ limit: 1 })[0]?.inputs as { incarnation: number; count: number };
    for (const found of [spec, kept, last]) {
      expect(found.incarnation).toBe(acknowledged.incarnation);
      expect(found.count).toBeGreaterThanOrEqual(acknowledged.count);
      // The write in progress may or may not have landed; nothing beyond it exists.
      expect(found.count).toBeLessThanOrEqual(acknowledged.count + 1);
    }
    expect(acknowledged.incarnation).toBe(index + 1);
    stores.close();
  }
});

function runUntilKilled(file: string, afterLines: number): Promise<{ incarnation: number; count: number }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "kill-writer.fixture.ts"), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.split("\n").length > afterLines) child.kill("SIGKILL");
    });
    child.on("close", (code) => {
      if (code !== null) return reject(new Error(`writer ended by itself with ${code}`));
      // A pipe's write is whole or absent for a line this short, so the last whole line is the last acknowledgement.
      const [incarnation = 0, count = 0] = (text.trimEnd().split("\n").at(-1) ?? "").split(" ").map(Number);
      resolve({ incarnation, count });
    });
  });
}

test("only its user can read the state, whatever the folder allows: environments in specs hold secrets", () => {
  chmodSync(folder, 0o755);
  const stores = openStores(path);
  stores.specs.put("spec", "iris", { env: { TOKEN: "secret" } });
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o077]);
  expect(modes.toSorted()).toEqual([
    ["state.sqlite", 0],
    ["state.sqlite-shm", 0],
    ["state.sqlite-wal", 0],
  ]);
  stores.close();
});

describe("trouble with the disk is said to people", () => {
  test("a folder that can't be made", () => {
    writeFileSync(join(folder, "file"), "");
    expect(codeOf(() => openStores(join(folder, "file", "state.sqlite")))).toBe("PENSTOCK_DATA_DIR_NOT_WRITABLE");
  });
  test("a read-only folder", () => {
    chmodSync(folder, 0o500);
    expect(asNobody(() => codeOf(() => openStores(path)))).toBe("PENSTOCK_DATA_DIR_NOT_WRITABLE");
  });
  test("a folder in the file's place", () => {
    mkdirSync(path);
    expect(codeOf(() => openStores(path))).toBe("PENSTOCK_DATA_DIR_NOT_WRITABLE");
  });
  test("a file that is no database", () => {
    writeFileSync(path, "this is not a database, and longer than the hundred bytes of a header".repeat(4));
    expect(codeOf(() => openStores(path))).toBe("PENSTOCK_STATE_DAMAGED");
  });
  test("a damaged page, or a value that is no JSON", () => {
    const stores = openStores(path);
    stores.specs.put("spec", "iris", "x".repeat(50_000));
    stores.close();
    const database = new DatabaseSync(path);
    database.exec("UPDATE facts SET value = 'half a va'");
    database.close();
    expect(codeOf(() => openStores(path).specs.load("spec"))).toBe("PENSTOCK_STATE_DAMAGED");
    const { size } = statSync(path);
    // The first page holds header and schema, and stays; of every table the rest is overwritten.
    const PAGE_BYTES = 4_096;
    truncateSync(path, PAGE_BYTES);
    appendFileSync(path, Buffer.alloc(size - PAGE_BYTES, 0xa5));
    expect(codeOf(() => openStores(path).specs.load("spec"))).toBe("PENSTOCK_STATE_DAMAGED");
  });
  test("a file of a newer Penstock", () => {
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    expect(codeOf(() => openStores(path))).toBe("PENSTOCK_STATE_TOO_NEW");
  });
  test("a full disk refuses the write, keeps what was there, and works again once there is room", () => {
    const stores = openStores(path);
    stores.specs.put("spec", "small", 1);
    stores.close();
    const full = openDatabase(path, "FULL");
    const { page_count: pages } = full.prepare("PRAGMA page_count").get() as { page_count: number };
    // SQLite gives a reached page limit and a full disk the same result code (SQLITE_FULL).
    full.exec(`PRAGMA max_page_count = ${pages}`);
    const put = writer(full, path, "INSERT INTO facts (fact, key, value) VALUES ('spec', 'big', ?)");
    expect(codeOf(() => put("x".repeat(100_000)))).toBe("PENSTOCK_DISK_FULL");
    full.close();
    const again = openStores(path);
    expect(again.specs.load("spec")).toEqual([{ key: "small", value: 1 }]);
    again.specs.put("spec", "big", "x".repeat(100_000));
    expect(again.specs.load("spec").map(({ key }) => key)).toEqual(["big", "small"]);
    again.close();
  });
});

/** Permissions do not stop root, so root does the work under another user. */
function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  const NOBODY = 65_534;
  process.seteuid?.(NOBODY);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}
