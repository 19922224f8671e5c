import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "penstock-folder-"));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

test("makes what is missing above it too, and leaves what is there", () => {
  makeFolder(join(scratch, "a/b/c"), 0o700);
  makeFolder(join(scratch, "a/b/c"), 0o755);
  expect(statSync(join(scratch, "a/b")).mode & 0o777).toBe(0o700);
});

test("a file in the way is an error", () => {
  writeFileSync(join(scratch, "file"), "");
  expect(() => makeFolder(join(scratch, "file"))).toThrow("EEXIST");
  expect(() => makeFolder(join(scratch, "file/below"))).toThrow(/EEXIST|ENOTDIR/);
});

test.skipIf(!existsSync("/proc/self"))("a place where nothing can be made is an error, at once", () => {
  expect(() => makeFolder("/proc/nowhere/below")).toThrow("ENOENT");
});
