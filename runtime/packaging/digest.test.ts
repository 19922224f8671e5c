import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { digestFiles } from "./digest.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-digest-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function digestOf(files: Readonly<Record<string, string>>): Promise<{ digest: string; sizeBytes: number }> {
  const root = mkdtempSync(join(folder, "model-"));
  mkdirSync(join(root, "code"));
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(join(root, path), text);
    // Times differ between the copies: they may not count.
    utimesSync(join(root, path), Math.random() * 1e9, 1);
  }
  return digestFiles(root, Object.keys(files), { signal: new AbortController().signal, onProgress: () => {} });
}

test("equal files in another folder have the same digest, and sizes are summed", async () => {
  const first = await digestOf({ a: "one", "code/b": "two" });
  expect(await digestOf({ a: "one", "code/b": "two" })).toEqual(first);
  expect(first.sizeBytes).toBe(6);
});

test("a changed byte, a changed name and bytes moved between files each change it", async () => {
  const digests = await Promise.all([
    digestOf({ a: "one", b: "two" }),
    digestOf({ a: "onE", b: "two" }),
    digestOf({ a: "one", c: "two" }),
    digestOf({ a: "onet", b: "wo" }),
  ]);
  expect(new Set(digests.map(({ digest }) => digest)).size).toBe(4);
});

test("files whose hash is known are not read, and count as if they were", async () => {
  const files = { a: "one", "code/b": "two" };
  const root = mkdtempSync(join(folder, "known-"));
  // Of the same size, and of another content than the hash says: whoever reads it gets another digest.
  writeFileSync(join(root, "a"), "eno");
  mkdirSync(join(root, "code"));
  writeFileSync(join(root, "code", "b"), "two");
  const knownHashes = new Map([["a", createHash("sha256").update("one").digest("hex")]]);
  const options = { signal: new AbortController().signal, knownHashes, onProgress: () => {} };
  expect(await digestFiles(root, Object.keys(files), options)).toEqual(await digestOf(files));
});

test("an aborted hash stops", async () => {
  writeFileSync(join(folder, "a"), "one");
  const options = { signal: AbortSignal.abort(), onProgress: () => {} };
  await expect(digestFiles(folder, ["a"], options)).rejects.toThrow(/abort/i);
});

test("work that was called off before it began leaves no file open", async () => {
  writeFileSync(join(folder, "a"), "one");
  const calledOff = { signal: AbortSignal.abort(new Error("superseded")), onProgress: () => {} };
  const openFiles = () => readdirSync("/proc/self/fd").length;
  const before = openFiles();
  for (let round = 0; round < 50; round++) {
    await expect(digestFiles(folder, ["a"], calledOff)).rejects.toThrow("superseded");
  }
  // Each round left one behind; a few may come and go by other hands.
  expect(openFiles() - before).toBeLessThan(25);
});
