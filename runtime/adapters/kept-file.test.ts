import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readKept, writeKept } from "./kept-file.ts";

let folder: string;
let path: string;
let told: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-kept-"));
  path = join(folder, "count.json");
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Count {
  readonly count: { readonly of: number };
}
const read = (): Count | null =>
  readKept<Count>(
    path,
    "count/2",
    ({ count }) => count.of > 0,
    (why) => told.push(why),
  );

test("what was kept is read again, and a file that is not there is no trouble", () => {
  expect(read()).toBe(null);
  writeKept(path, "count/2", { count: { of: 7 } });
  expect(read()).toEqual({ count: { of: 7 } });
  expect([told, readdirSync(folder)]).toEqual([[], ["count.json"]]);
});

test.each([
  ["of a later version", '{"format":"count/3","count":{"of":7}}', 'its format is "count/3"; count/2 is read here'],
  ["of an earlier version", '{"format":"count/1","count":7}', 'its format is "count/1"; count/2 is read here'],
  ["that says no format", '{"count":{"of":7}}', "it names no format; count/2 is read here"],
  ["that is cut off", '{"format":"count/2","cou', "JSON"],
  ["that is empty", "", "JSON"],
  ["of nothing", "null", "null"],
  ["of another shape", '{"format":"count/2"}', "of"],
  ["with a value out of range", '{"format":"count/2","count":{"of":0}}', "it is no whole count/2"],
])("a file %s is moved aside, whole, and why is told", (_, text, why) => {
  writeFileSync(path, text);
  expect(read()).toBe(null);
  expect(told).toEqual([expect.stringContaining(why)]);
  expect(told[0]).toContain(`it was moved to ${path}.set-aside`);
  expect([existsSync(path), readFileSync(`${path}.set-aside`, "utf8")]).toEqual([false, text]);
  writeKept(path, "count/2", { count: { of: 1 } });
  expect(read()).toEqual({ count: { of: 1 } });
});

test("a folder in its place is told, and ends nothing", () => {
  mkdirSync(path);
  mkdirSync(`${path}.set-aside`);
  writeFileSync(join(`${path}.set-aside`, "a"), "");
  expect(read()).toBe(null);
  expect(told).toEqual([expect.stringContaining("it can't be moved aside")]);
});
