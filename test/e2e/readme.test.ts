import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findClientPython } from "../clients/python.ts";
import { TestRegion } from "./region.ts";
import { HOW_TO_GET } from "./tools.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const DOCS = [
  "README.md",
  "examples/iris/README.md",
  "examples/agent/README.md",
  "docs/guides/models.md",
  "docs/guides/deploy.md",
  "docs/guides/scaling.md",
  "docs/guides/operate.md",
];
/** Needs a Python with MLflow and scikit-learn. */
const WITH_PYTHON = "docs/guides/models.md";
const python = findClientPython();
/** Made by WITH_PYTHON's first commands. */
const MADE = join(ROOT, "models", "flowers");
/** The slowest command makes an environment, or fetches a model. */
const COMMAND_LIMIT_MS = 300_000;
/** Start and test themselves: every end-to-end suite runs the first, and this is part of the second. */
const RUN_ELSEWHERE = /^npm (start|test)\b/;
const run = promisify(execFile);

let region: TestRegion;
beforeAll(async () => {
  rmSync(MADE, { recursive: true, force: true });
  region = await TestRegion.start({ file: null });
}, 300_000);
afterAll(async () => {
  await region?.end();
  rmSync(MADE, { recursive: true, force: true });
});

for (const doc of DOCS) {
  const lacksPython = doc === WITH_PYTHON && python === null;
  const title = lacksPython ? `${doc} (skipped: ${HOW_TO_GET})` : doc;
  describe.skipIf(lacksPython)(title, { timeout: COMMAND_LIMIT_MS }, () => runCommandsOf(doc));
}

function runCommandsOf(doc: string): void {
  const commands = commandsOf(readFileSync(join(ROOT, doc), "utf8"));
  test("has commands to run", () => {
    expect(commands.length).toBeGreaterThan(0);
  });
  test.each(commands)("%s", async (command) => {
    const script = `penstock() { node cli/penstock.ts "$@"; }\npython() { "$DOCS_PYTHON" "$@"; }\n${command.replaceAll("localhost:8080", new URL(region.url).host)}`;
    const env = { ...process.env, PENSTOCK_URL: region.url, DOCS_PYTHON: python ?? "python3" };
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { cwd: ROOT, env });
    expect(stdout).not.toMatch(/"error(_code)?"/);
  });
}

/** The commands of every `sh` block, in order; a line that ends in a backslash goes on in the next. */
function commandsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)]
    .flatMap(([, block = ""]) => block.replaceAll("\\\n", " ").split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && !RUN_ELSEWHERE.test(line));
}
