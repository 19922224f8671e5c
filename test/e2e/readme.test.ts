import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestRegion } from "./region.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const DOCS = [
  "README.md",
  "examples/iris/README.md",
  "examples/agent/README.md",
  "docs/guides/deploy.md",
  "docs/guides/scaling.md",
  "docs/guides/operate.md",
];
/** Start and test themselves: every end-to-end suite runs the first, and this is part of the second. */
const RUN_ELSEWHERE = /^npm (start|test)\b/;
const run = promisify(execFile);

let region: TestRegion;
beforeAll(async () => {
  region = await TestRegion.start({ file: null });
}, 300_000);
afterAll(() => region?.end());

describe.each(DOCS)("%s", (doc) => {
  const commands = commandsOf(readFileSync(join(ROOT, doc), "utf8"));
  test("has commands to run", () => {
    expect(commands.length).toBeGreaterThan(0);
  });
  test.each(commands)("%s", async (command) => {
    const script = `penstock() { node cli/penstock.ts "$@"; }\n${command.replaceAll("localhost:8080", new URL(region.url).host)}`;
    const env = { ...process.env, PENSTOCK_URL: region.url };
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { cwd: ROOT, env });
    expect(stdout).not.toMatch(/"error(_code)?"/);
  });
});

/** The commands of every `sh` block, in order; a line that ends in a backslash goes on in the next. */
function commandsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)]
    .flatMap(([, block = ""]) => block.replaceAll("\\\n", " ").split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && !RUN_ELSEWHERE.test(line));
}
