import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { promisify } from "node:util";
import { bytesText } from "../../runtime/core/format.ts";
import { printable } from "../../runtime/core/terminal-text.ts";
import type { Check } from "../../runtime/operate/views/checks.ts";
import { CliError, EXIT } from "../exit.ts";
import { type CommonOptions, openSession } from "../session.ts";

/** Less free disk than this and the next model or environment may not fit. */
const LOW_DISK_BYTES = 5 * 2 ** 30;

/** `penstock doctor`: this machine, then the region; ends with 1 when a check fails, 3 when no region answers. */
export async function doctor(options: CommonOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  const checks = await machineChecks();
  try {
    const found = await region.get<{ checks: Check[] }>("/checks");
    checks.push({ name: "region", verdict: "pass", message: `answers at ${region.url}`, todo: null }, ...found.checks);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    checks.push({ name: "region", verdict: "fail", message: error.message, todo: error.todo });
    process.exitCode = error.exitCode;
  }
  if (checks.some((check) => check.verdict === "fail")) process.exitCode ??= EXIT.failed;
  if (terminal.json) return terminal.printJson(checks);
  const { style } = terminal;
  const words = { pass: style.good("pass"), warn: style.warn("warn"), fail: style.bad("FAIL") };
  for (const { name, verdict, message, todo } of checks) {
    terminal.print(`${words[verdict]}  ${style.bold(printable(name))}: ${printable(message)}`);
    if (todo !== null && verdict !== "pass") terminal.print(`      ${printable(todo)}`);
  }
}

async function machineChecks(): Promise<Check[]> {
  const disk = await statfs(homedir());
  const freeBytes = disk.bavail * disk.bsize;
  const free = `${bytesText(freeBytes)} free`;
  return [
    { name: "node", verdict: "pass", message: process.version, todo: null },
    freeBytes < LOW_DISK_BYTES
      ? { name: "disk", verdict: "warn", message: free, todo: "Free some: models and environments need gibibytes." }
      : { name: "disk", verdict: "pass", message: free, todo: null },
    (await programCheck("uv", ["--version"])) ?? {
      name: "uv",
      verdict: "pass",
      message: "not on the PATH; the first MLflow model brings one along",
      todo: null,
    },
    (await programCheck("python3", ["--version"])) ?? {
      name: "python3",
      verdict: "warn",
      message: "not found on the PATH",
      todo: "MLflow models need a Python 3 (3.10 to 3.13) with pip and venv.",
    },
  ];
}

/** The version that a program tells, or null where it can't be run. */
async function programCheck(program: string, args: string[]): Promise<Check | null> {
  try {
    const { stdout } = await promisify(execFile)(program, args);
    return { name: program, verdict: "pass", message: stdout.trim(), todo: null };
  } catch {
    return null;
  }
}
