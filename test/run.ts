/**
 * `npm test`: checks layout, lint and types, then runs every suite that this machine can run, and ends with one line
 * `N passed, N failed, N skipped`. Arguments are handed to vitest (`npm test -- runtime/core`), and then only tests run;
 * with `test/cluster` among them, those of the test cluster only.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { enterCluster, findCluster, startCluster, stopCluster } from "./cluster/cluster.ts";
import { findPrograms } from "./cluster/programs.ts";

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

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const args = process.argv.slice(2);
const clusterArgs = args.filter((arg) => arg.startsWith("test/cluster"));
const scratch = mkdtempSync(join(tmpdir(), "penstock-test-"));

const counts: Counts[] = [];
if (args.length === 0) {
  counts.push(checked("layout and lint", "biome", ["check", "."]), checked("types", "tsc", ["-p", "tsconfig.json"]));
}
if (clusterArgs.length === 0) counts.push(suites("tests", args, (command) => run(command)));
if (args.length === 0 || clusterArgs.length > 0) counts.push(await clusterSuites(args));
rmSync(scratch, { recursive: true, force: true });

const sum = (pick: (one: Counts) => number): number => counts.reduce((total, one) => total + pick(one), 0);
const failed = sum((one) => one.failed);
const skipped = sum((one) => one.skipped);
console.log(`\n${sum((one) => one.passed)} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed > 0 || (process.env.CI === "true" && skipped > 0) ? 1 : 0);

function run([program, ...programArgs]: readonly string[]): number {
  return spawnSync(program ?? "", programArgs, { stdio: "inherit" }).status ?? 1;
}

function checked(title: string, program: string, programArgs: readonly string[]): Counts {
  console.log(`\n== ${title}`);
  const failed = run([program, ...programArgs]) === 0 ? 0 : 1;
  return { passed: 1 - failed, failed, skipped: 0 };
}

/** Runs vitest by `start` and counts; a run that ended badly though no test failed counts as one failure. */
function suites(title: string, vitestArgs: readonly string[], start: (command: readonly string[]) => number): Counts {
  console.log(`\n== ${title}`);
  const reportFile = join(scratch, `${title.replaceAll(" ", "-")}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const status = start(["vitest", "run", ...reporters, ...vitestArgs]);
  const counted = countTests(reportFile);
  return status !== 0 && counted.failed === 0 ? { ...counted, failed: 1 } : counted;
}

/** The suites of the test cluster, on one that is started for them unless one runs; skipped, with the reason, where none can. */
async function clusterSuites(vitestArgs: readonly string[]): Promise<Counts> {
  const missing =
    findPrograms() === null
      ? "its programs are not built: `npm run tools` builds them once"
      : process.getuid?.() !== 0
        ? "it makes namespaces and containers: run as root"
        : null;
  if (missing !== null) {
    const files = globSync("test/cluster/**/*.cluster.ts").length;
    console.log(`\n== tests on a cluster: ${files} files skipped; ${missing}`);
    return { passed: 0, failed: 0, skipped: files };
  }
  const wasUp = findCluster() !== null;
  try {
    const { readySeconds } = await startCluster((line) => console.log(line));
    console.log(`the cluster is ready after ${readySeconds} s`);
    const config = ["--config", "test/cluster/vitest.config.ts"];
    return suites("tests on a cluster", [...config, ...vitestArgs], enterCluster);
  } catch (error) {
    console.error(error);
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    if (!wasUp) await stopCluster();
  }
}

/** Counts from vitest's report; a file that could not even be loaded counts as one failure. */
function countTests(reportFile: string): Counts {
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
