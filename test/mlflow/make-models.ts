import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeEnvironment } from "../../runtime/packaging/environment.ts";
import { environmentDir } from "../../runtime/packaging/layout.ts";
import { runProgram } from "../../runtime/packaging/run-program.ts";
import type { BuildContext } from "../../runtime/packaging/uv.ts";
import { EXAMPLE_DIR, modelsDir } from "./models-dir.ts";

/**
 * Trains the models of examples/mlflow/train.py in an environment of their own and makes the environment of each model.
 * All are kept in the cache and reused. Returns the folder that holds them.
 */
export async function makeModels(context: BuildContext): Promise<string> {
  if (!existsSync(modelsDir)) await train(context);
  for (const name of ["sklearn", "xgboost", "waits"]) {
    await makeEnvironment(join(modelsDir, name), modelsDir, context);
  }
  return modelsDir;
}

async function train(context: BuildContext): Promise<void> {
  const building = `${modelsDir}.building`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(building, { recursive: true });
  const environment = await makeEnvironment(EXAMPLE_DIR, building, context);
  context.onProgress("training the models");
  const python = join(environmentDir(building, environment.hash), "bin", "python");
  const ended = await runProgram(python, [join(EXAMPLE_DIR, "train.py"), building], context.signal);
  if (ended.code !== 0) throw new Error(ended.stderr);
  renameSync(building, modelsDir);
}
