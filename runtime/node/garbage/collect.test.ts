import { lstatSync, lutimesSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { specOf, versionOf } from "../../../test/support/specs.ts";
import { collectGarbage } from "./collect.ts";
import { planGarbage, type Stored, type StoredKind } from "./plan.ts";

const DAY_MS = 86_400_000;
const clock = new FakeClock();
const version = { ...versionOf(specOf("iris")), environmentHash: "env-used" };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "penstock-garbage-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const dataDir = (): string => join(root, "data");
const cacheDir = (): string => join(root, "cache");

/** Stores a folder with a file in it (or a file, or a link), `days` old. */
function store(path: string, days: number, what: "folder" | "file" | "link" = "folder"): string {
  mkdirSync(dirname(path), { recursive: true });
  if (what === "folder") mkdirSync(path);
  if (what === "folder") writeFileSync(join(path, "content"), "x");
  if (what === "file") writeFileSync(path, "x");
  if (what === "link") symlinkSync("elsewhere", path);
  const seconds = (clock.wallMs() - days * DAY_MS) / 1_000;
  lutimesSync(path, seconds, seconds);
  return path;
}

/** Also of a link that leads nowhere. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

test("what no version refers to goes once it is old enough; what one refers to stays however old it is", async () => {
  const kept = [
    store(join(dataDir(), "artifacts", version.artifact.digest), 400),
    store(join(dataDir(), "artifacts", "just-made"), 0.5),
    store(join(dataDir(), "environments", "env-used"), 400, "link"),
    store(join(cacheDir(), "environments", "env-used"), 400),
    store(join(cacheDir(), "environments", "env-of-another-region"), 29),
    store(join(dataDir(), "logs", `${version.id}-3.log.1`), 400, "file"),
    store(join(dataDir(), "logs", "controller.log"), 400, "file"),
    store(join(dataDir(), "logs", "gone-0123456789-1.log"), 6, "file"),
  ];
  const garbage = [
    store(join(dataDir(), "artifacts", "unused"), 1.1),
    store(join(dataDir(), "artifacts", "incoming-of-a-killed-one"), 1.1),
    store(join(dataDir(), "environments", "env-unused"), 1.1, "link"),
    store(join(cacheDir(), "environments", "env-unused"), 31),
    store(join(dataDir(), "logs", "gone-0123456789-0.log"), 8, "file"),
    store(join(dataDir(), "logs", "gone-0123456789-0.log.1"), 8, "file"),
  ];
  const removed = await collectGarbage([version], { dataDir: dataDir(), cacheDir: cacheDir(), clock });
  expect([...removed].sort()).toEqual([...garbage].sort());
  expect(garbage.filter(isThere)).toEqual([]);
  expect(kept.filter((path) => !isThere(path))).toEqual([]);
  // Marked as used now, so that no other region of the machine takes it for old.
  expect(statSync(join(cacheDir(), "environments", "env-used")).mtimeMs).toBeCloseTo(clock.wallMs(), -1);
});

test("folders that are not there are no error", async () => {
  expect(await collectGarbage([version], { dataDir: dataDir(), cacheDir: cacheDir(), clock })).toEqual([]);
});

test("never what a version refers to, whatever is stored", () => {
  const kinds: StoredKind[] = ["artifact", "link", "environment", "log"];
  const name = fc.constantFrom("a", "b", "c-0123456789-1.log", "d-0123456789-1.log");
  const stored: fc.Arbitrary<Stored> = fc.record({
    kind: fc.constantFrom(...kinds),
    name,
    ageMs: fc.double({ min: 0, max: 1e12, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(stored), fc.array(name), (all, names) => {
      const refers = new Set<string>(names);
      const versions = new Set(names.map((one) => one.replace(/-1\.log$/, "")));
      const removed = planGarbage(all, { artifacts: refers, environments: refers, versions });
      for (const one of removed) expect(refers.has(one.name)).toBe(false);
    }),
  );
});
