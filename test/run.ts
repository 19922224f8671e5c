/**
 * `npm test`: checks layout, lint and types, then runs every suite that this machine can run, and ends with one line
 * `N passed, N failed, N skipped`. Arguments are handed to vitest (`npm test -- runtime/core`), and then only tests run.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly unknown[];
  }[];
}

const args = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "penstock-test-"));
const reportFile = join(scratch, "report.json");

const checks =
  args.length > 0
    ? []
    : [step("layout and lint", "biome", ["check", "."]), step("types", "tsc", ["-p", "tsconfig.json"])];
const vitest = step("tests", "vitest", [
  "run",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${reportFile}`,
  ...args,
]);
const counts = countTests();
rmSync(scratch, { recursive: true, force: true });

const failedChecks = checks.filter((passed) => !passed).length;
const failed = counts.failed + failedChecks;
console.log(`\n${counts.passed + checks.length - failedChecks} passed, ${failed} failed, ${counts.skipped} skipped`);
process.exit(failed > 0 || !vitest || (process.env.CI === "true" && counts.skipped > 0) ? 1 : 0);

function step(title: string, program: string, programArgs: readonly string[]): boolean {
  console.log(`\n== ${title}`);
  return spawnSync(program, programArgs, { stdio: "inherit" }).status === 0;
}

/** Counts from vitest's report; a file that could not even be loaded counts as one failure. */
function countTests(): { passed: number; failed: number; skipped: number } {
  try {
    const report = JSON.parse(readFileSync(reportFile, "utf8")) as Report;
    const broken = report.testResults.filter(
      (file) => file.status === "failed" && file.assertionResults.length === 0,
    ).length;
    return { passed: report.numPassedTests, failed: report.numFailedTests + broken, skipped: report.numPendingTests };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
