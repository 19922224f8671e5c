import { existsSync, readFileSync, realpathSync } from "node:fs";
import { mkdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { sha256Hex } from "../../runtime/core/canonical.ts";
import { makeEnvironment } from "../../runtime/packaging/environment.ts";
import { environmentDir } from "../../runtime/packaging/layout.ts";
import type { BuildContext } from "../../runtime/packaging/uv.ts";
import { cacheDir } from "../mlflow/models-dir.ts";

const sources = ["requirements.txt", "python_env.yaml"].map((name) => join(import.meta.dirname, name));
/** Where the environment's lock is kept; named by what it is made from. */
const folder = join(
  cacheDir,
  "clients",
  sha256Hex(sources.map((path) => readFileSync(path, "utf8")).join("\0")).slice(0, 16),
);
const link = join(folder, "environment");

/** The Python with MLflow's and Triton's clients, or null where `test/tools.ts` has not made it yet. */
export function findClientPython(): string | null {
  return existsSync(link) ? join(realpathSync(link), "bin", "python") : null;
}

/** Makes that Python, or finds it made. */
export async function makeClientPython(context: BuildContext): Promise<string> {
  const made = findClientPython();
  if (made !== null) return made;
  await mkdir(folder, { recursive: true });
  const { hash } = await makeEnvironment(import.meta.dirname, folder, context);
  await rm(`${link}.new`, { force: true });
  await symlink(environmentDir(folder, hash), `${link}.new`);
  await rename(`${link}.new`, link);
  return findClientPython()!;
}
