import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../adapters/clock.ts";
import { exclusively } from "./exclusive.ts";

let folder: string;
const never = new AbortController().signal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-lock-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("work under one lock never overlaps, also within a process", async () => {
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    running++;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  const options = { clock: systemClock, signal: never, onWait: () => {} };
  const lock = join(folder, "locks/a.lock");
  await Promise.all([1, 2, 3].map(() => exclusively(lock, options, work)));
  expect(most).toBe(1);
});

test("a lock held by another process is waited for, and free once that process was killed", async () => {
  const lock = join(folder, "a.lock");
  const holder = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { DatabaseSync } from "node:sqlite";
       new DatabaseSync(process.argv[1]).exec("BEGIN EXCLUSIVE");
       console.log("held");
       setInterval(() => {}, 1000);`,
      lock,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await new Promise((resolve) => holder.stdout.once("data", resolve));
  const order: string[] = [];
  const onWait = (): void => {
    order.push("waits");
    holder.kill("SIGKILL");
  };
  await exclusively(lock, { clock: systemClock, signal: never, onWait }, async () => order.push("works"));
  expect(order).toEqual(["waits", "works"]);
});

test("a wait ends with the reason when it is aborted", async () => {
  const lock = join(folder, "a.lock");
  const abort = new AbortController();
  const waiting = exclusively(lock, { clock: systemClock, signal: never, onWait: () => {} }, () =>
    expect(
      exclusively(
        lock,
        { clock: systemClock, signal: abort.signal, onWait: () => abort.abort(new Error("enough")) },
        async () => null,
      ),
    ).rejects.toThrow("enough"),
  );
  await waiting;
});
