import { expect, test } from "vitest";
import { asMonoMs } from "../../core/time.ts";
import type { VersionPhase } from "../../domain/rollout.ts";
import { aRolledVersion, aRollout, aVersion } from "../testing/facts.ts";
import { rollbackTarget } from "./rollback-target.ts";

/** A rollout of rows `letter phase weight since`; the letter of the version a rollback goes to. */
function target(...rows: readonly (readonly [string, VersionPhase, number, number])[]): string | null {
  const versions = rows.map(([letter, phase, weight, since]) =>
    aRolledVersion({ version: aVersion(letter), phase, weight, sinceMs: asMonoMs(since) }),
  );
  return rollbackTarget(aRollout(versions))?.version.id.at(-1) ?? null;
}

test.each([
  [
    "the version that left service last",
    [
      ["a", "kept", 0, 1],
      ["b", "kept", 0, 2],
      ["c", "serving", 100, 3],
    ],
    "b",
  ],
  [
    "from a canary to what still serves",
    [
      ["a", "serving", 90, 1],
      ["b", "serving", 10, 2],
    ],
    "a",
  ],
  [
    "from a staging version to the one that serves",
    [
      ["a", "serving", 100, 1],
      ["b", "staging", 0, 2],
    ],
    "a",
  ],
  [
    "a draining version before a kept one",
    [
      ["a", "kept", 0, 9],
      ["b", "draining", 0, 3],
      ["c", "serving", 100, 3],
    ],
    "b",
  ],
  [
    "never a failed one",
    [
      ["a", "failed", 0, 1],
      ["b", "serving", 100, 2],
    ],
    null,
  ],
  [
    "back again after a rollback",
    [
      ["a", "serving", 100, 5],
      ["b", "kept", 0, 5],
    ],
    "b",
  ],
] as const)("a rollback goes to %s", (_what, rows, letter) => {
  expect(target(...rows)).toBe(letter);
});
