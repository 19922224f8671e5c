// Trains the models of examples/mlflow/train.py in an environment of their own, makes the environment of each model, and
// prints the folder. All are kept in the cache and reused. Usage: node test/mlflow/make-models.ts
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../runtime/adapters/clock.ts";
import { makeEnvironment } from "../../runtime/packaging/environment.ts";
import { environmentDir } from "../../runtime/packaging/layout.ts";
import { runProgram } from "../../runtime/packaging/run-program.ts";
import { cacheDir, EXAMPLE_DIR, modelsDir } from "./models-dir.ts";

const signal = new AbortController().signal;
const context = {
  cacheDir,
  clock: systemClock,
  signal,
  onProgress: (doing: string) => console.error(doing),
};

async function train(): Promise<void> {
  const building = `${modelsDir}.building`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(building, { recursive: true });
  const environment = await makeEnvironment(EXAMPLE_DIR, building, context);
  console.error("training");
  const python = join(environmentDir(building, environment.hash), "bin", "python");
  const ended = await runProgram(python, [join(EXAMPLE_DIR, "train.py"), building], signal);
  if (ended.code !== 0) throw new Error(ended.stderr);
  renameSync(building, modelsDir);
}

if (!existsSync(modelsDir)) await train();
for (const name of ["sklearn", "xgboost", "waits"]) {
  await makeEnvironment(join(modelsDir, name), modelsDir, context);
}
console.log(modelsDir);
