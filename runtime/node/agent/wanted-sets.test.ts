import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ReplicaSet } from "../../domain/replica.ts";
import type { Log } from "../../ports/log.ts";
import { RunFile } from "./run-file.ts";
import { WantedSets } from "./wanted-sets.ts";

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-files-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a set that was put is there in the next life", () => {
  const set = { version: { id: "iris-1" }, replicas: [{ id: "iris-1-0" }] } as unknown as ReplicaSet;
  expect(new WantedSets(folder, quiet).put(set)).toBe(true);
  expect(new WantedSets(folder, quiet).all()).toEqual([set]);
});

// A disk that was full, a hand that edited it, a release that wrote it otherwise: a region must start all the same.
test.each(["", "{", "null", "{}", '{"sets":[]}', "[null]", "[{}]", '[{"version":{"id":"a"}}]', "7"])(
  "files that hold %j count as absent",
  (text) => {
    for (const name of ["wanted-sets.json", "run.json"]) writeFileSync(join(folder, name), text);
    expect(new WantedSets(folder, quiet).all()).toEqual([]);
    const runFile = new RunFile(folder);
    expect([runFile.killed, runFile.nextEpoch()]).toEqual([[], 1]);
  },
);

test("an epoch that is no number is not counted on from", () => {
  writeFileSync(join(folder, "run.json"), '{"epoch":"12","children":[]}');
  expect(new RunFile(folder).nextEpoch()).toBe(1);
});
