import { spawn } from "node:child_process";

/** How a program ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** More output than this of one stream is not kept: no program that is run here says so much. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/**
 * Variables of a person's shell that would change what Python and uv do: they may not reach a build that is named by
 * its content, and compiled bytecode decides how fast a model starts.
 */
const CLEARED = ["PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "UV_PYTHON", "UV_CONFIG_FILE"];

/** Runs a program to its end, in its own process group, which is killed on abort. Errors: the signal's reason; spawn's error if it can't be started. */
export function runProgram(command: string, args: readonly string[], signal: AbortSignal): Promise<Ended> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const child = spawn("env", [...CLEARED.flatMap((name) => ["-u", name]), command, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const kill = (): void => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    };
    signal.addEventListener("abort", kill, { once: true });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        if (output[name].length < MAX_OUTPUT_BYTES) output[name] += text;
      });
    }
    child.on("error", reject);
    child.on("close", (code) => {
      signal.removeEventListener("abort", kill);
      if (signal.aborted) reject(signal.reason);
      else resolve({ code, ...output });
    });
  });
}
