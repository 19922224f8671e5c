import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserError } from "../core/errors.ts";
import { lockDataDir } from "./data-dir-lock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ME = { pid: process.pid, startedAt: "2026-01-02T03:04:05.000Z" };

const errorOf = (work: () => unknown): UserError => {
  try {
    work();
  } catch (error) {
    return error as UserError;
  }
  throw new Error("no error");
};

test("a second region on the folder is refused and told who holds it, until the first gives it back", () => {
  const release = lockDataDir(folder, ME);
  const error = errorOf(() => lockDataDir(folder, ME));
  expect(error.code).toBe("PENSTOCK_DATA_DIR_IN_USE");
  expect(error.message).toContain(`process id ${process.pid}, started ${ME.startedAt}`);
  release();
  lockDataDir(folder, ME)();
});

test("a holder killed with -9 leaves nothing that stands in the way", async () => {
  const holder = spawn(
    process.execPath,
    [
      "--input-type=module-typescript",
      "-e",
      `const { lockDataDir } = await import(${JSON.stringify(join(import.meta.dirname, "data-dir-lock.ts"))});
       lockDataDir(${JSON.stringify(folder)}, { pid: process.pid, startedAt: "x" });
       console.log("held");
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(holder.stdout, "data");
  expect(errorOf(() => lockDataDir(folder, ME)).message).toContain(`process id ${holder.pid}`);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  lockDataDir(folder, ME)();
});

test("a path that is no folder is said", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect(errorOf(() => lockDataDir(file, ME)).code).toBe("PENSTOCK_DATA_DIR_NOT_WRITABLE");
});
