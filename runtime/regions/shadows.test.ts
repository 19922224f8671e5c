import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { UserError } from "../core/errors.ts";
import { loadShadow, mergeShadows } from "./shadows.ts";

const folder = mkdtempSync(join(tmpdir(), "penstock-shadow-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LAW = `{ name: "fleet", scope: "version", pace: { everyMs: 1000, minGapMs: 100 },
  observe: () => 0, init: () => 0, keep: () => 0, decide: () => ({ memory: 0, output: null, because: { reason: "", inputs: {} }, wakeAtMs: null }) }`;

let made = 0;
function moduleOf(text: string): string {
  made += 1;
  const path = join(folder, `law-${made}.mjs`);
  writeFileSync(path, text);
  return path;
}

const errorOf = (module: string): Promise<UserError> =>
  loadShadow({ name: "trial", module }).then(
    () => {
      throw new Error("no error");
    },
    (error: UserError) => error,
  );

test("a module's default export runs in shadow of the controller whose name it has", async () => {
  const { name, law } = await loadShadow({ name: "trial", module: moduleOf(`export default ${LAW};`) });
  expect([name, law.name]).toEqual(["trial", "fleet"]);
});

test("a module that is not there is told with its path", async () => {
  const error = await errorOf(join(folder, "none.ts"));
  expect([error.code, error.message]).toEqual(["PENSTOCK_SHADOW_NOT_FOUND", expect.stringContaining("none.ts")]);
});

test.each([
  ["does not parse", "export default {", /can't be loaded/],
  ["throws while it loads", 'throw new Error("no disk");', /no disk/],
  ["exports no default", `export const law = ${LAW};`, /default export is no Controller/],
  [
    "names no controller of a region",
    `export default { ...${LAW}, name: "autoscale" };`,
    /no controller autoscale.*rollout, autoscaler, capacity, fleet, publisher/,
  ],
  ["has another scope", `export default { ...${LAW}, scope: "region" };`, /`scope` is not version/],
  ["lacks a function", `export default { ...${LAW}, keep: undefined };`, /`keep` is not a function/],
  ["has no pace", `export default { ...${LAW}, pace: { everyMs: 0, minGapMs: 1 } };`, /`pace`/],
])("a module that %s is refused, saying so", async (_what, text, says) => {
  const error = await errorOf(moduleOf(text));
  expect(error.code).toBe("PENSTOCK_SHADOW_UNUSABLE");
  expect(error.message).toMatch(says);
});

test("of two shadows with one name the command line's runs", () => {
  const merged = mergeShadows(
    [
      { name: "a", module: "/file/a" },
      { name: "b", module: "/file/b" },
    ],
    [{ name: "a", module: "/command/a" }],
  );
  expect(merged.map(({ module }) => module)).toEqual(["/command/a", "/file/b"]);
});
