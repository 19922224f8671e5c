import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeKept } from "../../adapters/kept-file.ts";
import type { Log } from "../../ports/log.ts";
import { RunFile } from "./run-file.ts";
import { aWholeSet } from "./sets.fixture.ts";
import { WantedSets } from "./wanted-sets.ts";

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-files-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a set that was put is there in the next life", () => {
  const set = aWholeSet();
  expect(new WantedSets(folder, quiet).put(set)).toBe(true);
  expect(new WantedSets(folder, quiet).all()).toEqual([set]);
});

// A disk that was full, a hand that edited it, a release that wrote it otherwise: a region must start all the same.
test.each([
  "{",
  '{"format":"other/1"}',
  '{"format":"FORMAT"}',
  '{"format":"FORMAT","sets":[null],"epoch":"12","children":[]}',
  '{"format":"FORMAT","sets":[{"version":{"id":"a"}}],"epoch":7,"children":[null]}',
])("files that hold %s count as absent, and a warning tells that they were set aside", (text) => {
  const warned: string[] = [];
  const log: Log = { ...quiet, warn: (code) => warned.push(code) };
  for (const name of ["wanted-sets", "run"]) {
    writeFileSync(join(folder, `${name}.json`), text.replace("FORMAT", `${name}/1`));
  }
  expect(new WantedSets(folder, log).all()).toEqual([]);
  const runFile = new RunFile(folder, log);
  expect([runFile.killed, runFile.nextEpoch()]).toEqual([[], 1]);
  expect(warned).toEqual(["WANTED_SETS_SET_ASIDE", "RUN_FILE_SET_ASIDE"]);
});

const whole = aWholeSet();
test.each([
  ["a version of another runtime than its id says", { ...whole, version: { ...whole.version, runtime: "quantum" } }],
  ["a version of an endpoint that is not its own", { ...whole, version: { ...whole.version, endpoint: "other" } }],
  ["a replica without an id", { ...whole, replicas: [{}] }],
  ["a replica whose id leads out of the folder", { ...whole, replicas: [{ id: "../../evil", draining: false }] }],
])("a kept set with %s does not start", (_, set) => {
  writeKept(join(folder, "wanted-sets.json"), "wanted-sets/1", { sets: [set] });
  expect(new WantedSets(folder, quiet).all()).toEqual([]);
});
