import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { UserError } from "../core/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Python } from "./choose-python.ts";
import { RetryableError } from "./errors.ts";
import { exclusively } from "./exclusive.ts";
import { runProgram } from "./run-program.ts";

/** The version that is installed where the machine has no uv of its own. */
const UV_VERSION = "0.13.9";

/** What building an environment needs, and whom it tells. */
export interface BuildContext {
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  onProgress(doing: string): void;
}

/** The uv to use: the one on the PATH, or a pinned one in the cache, installed on first use. Errors: UserError where there is no Python either. */
export async function findUv(context: BuildContext): Promise<string> {
  const onPath = await runProgram("uv", ["--version"], context.signal);
  if (onPath.code === 0) return "uv";
  const folder = join(context.cacheDir, "tools", `uv-${UV_VERSION}`);
  const uv = join(folder, "bin", "uv");
  return exclusively(
    join(context.cacheDir, "locks", "uv.lock"),
    { clock: context.clock, signal: context.signal, onWait: () => context.onProgress("waiting for uv") },
    async () => {
      if (!(await exists(uv))) await installUv(folder, context);
      return uv;
    },
  );
}

async function installUv(folder: string, context: BuildContext): Promise<void> {
  context.onProgress("installing uv");
  const building = `${folder}.building`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  const venv = await runProgram("python3", ["-m", "venv", building], context.signal);
  if (venv.code !== 0) {
    throw new UserError(
      "PENSTOCK_NO_PYTHON",
      `python3 can't make a virtual environment: ${lastLine(venv.stderr) || "python3 is not to be found"}`,
      "Install Python 3 with pip and venv (3.10 to 3.13), or install uv.",
    );
  }
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `uv==${UV_VERSION}`];
  const pip = await runProgram(join(building, "bin", "python"), args, context.signal);
  if (pip.code !== 0) {
    throw new RetryableError(
      "PENSTOCK_UV_MISSING",
      `uv can't be installed: ${lastLine(pip.stderr)}`,
      "Check the network (or a proxy), or install uv yourself; it is tried again by itself.",
    );
  }
  await rename(building, folder);
}

/** The Pythons on this machine: those uv sees (PATH, system) and those of pyenv, which need not be on the PATH. */
export async function listPythons(uv: string, signal: AbortSignal): Promise<readonly Python[]> {
  const args = ["python", "list", "--only-installed", "--no-python-downloads", "--output-format", "json"];
  const listed = await runProgram(uv, args, signal);
  const entries =
    listed.code === 0 ? (JSON.parse(listed.stdout) as { path: string; version: string; implementation: string }[]) : [];
  const seen = entries.filter(({ implementation }) => implementation === "cpython");
  const pyenvDir = join(homedir(), ".pyenv", "versions");
  const versions = (await readdir(pyenvDir).catch(() => [])).filter((name) => /^3\.\d+\.\d+$/.test(name));
  return [
    ...versions.map((version) => ({ path: join(pyenvDir, version, "bin", "python3"), version })),
    ...seen.map(({ path, version }) => ({ path, version })),
  ];
}

/** Whether there is something at `path`. */
export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
