// bench:deploy: from `penstock deploy` of a scikit-learn model saved by MLflow to its first right answer: with an empty cache
// (uv, wheels and environment are fetched and made), with the environment made already, and with other weights only; then
// from `penstock rollback` to the first answer of the version before. Needs a package index unless uv's cache holds the wheels.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../runtime/adapters/clock.ts";
import { HEADERS } from "../../runtime/contract/names.ts";
import { makeEnvironment } from "../../runtime/packaging/environment.ts";
import { environmentDir } from "../../runtime/packaging/layout.ts";
import type { BuildContext } from "../../runtime/packaging/uv.ts";
import { scratchFolder, TestRegion } from "../e2e/region.ts";
import { makeModels } from "../mlflow/make-models.ts";
import { cacheDir } from "../mlflow/models-dir.ts";
import { changeWeights } from "./support/change-weights.ts";
import { loadText, report, step } from "./support/report.ts";

const POLL_MS = 10;
const COLUMNS = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"];
const ROW = { dataframe_split: { columns: COLUMNS, data: [[5.1, 3.5, 1.4, 0.2]] } };

/** Seconds from the start of a command to the first good answer of a version that `is` the one wanted; fails with the command. */
async function secondsToAnswer(
  region: TestRegion,
  endpoint: string,
  command: readonly string[],
  is: (version: string) => boolean,
): Promise<{ readonly seconds: number; readonly version: string }> {
  const startedAtMs = performance.now();
  let failure: Error | null = null;
  const running = region.penstockJson(...command).catch((error: Error) => {
    failure = error;
  });
  for (;;) {
    if (failure !== null) throw failure;
    const answer = await region.post(`/serving-endpoints/${endpoint}/invocations`, ROW).catch(() => null);
    const version = answer?.headers.get(HEADERS.version) ?? "";
    if (answer?.status === 200 && is(version)) {
      const seconds = (performance.now() - startedAtMs) / 1_000;
      await running;
      return { seconds, version };
    }
    await sleep(POLL_MS);
  }
}

const folder = scratchFolder();
step("the MLflow model");
const context: BuildContext = {
  cacheDir,
  clock: systemClock,
  signal: new AbortController().signal,
  onProgress: (doing) => step(`  ${doing}`),
};
const models = await makeModels(context);
const model = join(models, "sklearn");
const changed = join(folder, "changed");
cpSync(model, changed, { recursive: true });
const { hash } = await makeEnvironment(model, models, context);
await changeWeights(join(environmentDir(models, hash), "bin", "python"), changed);

const setup = {
  file: { region: "bench", endpoints: [] },
  // Everything that a region keeps between starts, and uv's own cache, begins empty.
  env: { XDG_CACHE_HOME: join(folder, "cache"), UV_CACHE_DIR: join(folder, "cache", "uv") },
};

/** Runs `measure` in a region of its own that shares the bench's cache. */
async function inRegion<T>(measure: (region: TestRegion) => Promise<T>): Promise<T> {
  const region = await TestRegion.start(setup);
  try {
    return await measure(region);
  } finally {
    await region.stop();
    await region.end();
  }
}

try {
  step(`cold: nothing is in the cache (${loadText()})`);
  const cold = await inRegion((region) =>
    secondsToAnswer(region, "flowers", ["deploy", model, "--name", "flowers"], () => true),
  );
  step("warm: another region, the environment is there");
  const figures = await inRegion(async (region) => {
    const warm = await secondsToAnswer(region, "flowers", ["deploy", model, "--name", "flowers"], () => true);
    step("other weights, the same environment");
    const weights = await secondsToAnswer(
      region,
      "flowers",
      ["deploy", changed, "--name", "flowers"],
      (version) => version !== warm.version,
    );
    await region.whenEndpoint("flowers", "has no replica of the old version", ({ versions, replicas }) => {
      const old = versions.find(({ id }) => id === warm.version);
      return old !== undefined && old.phase === "kept" && replicas.every(({ version }) => version !== warm.version);
    });
    step("rollback");
    const back = await secondsToAnswer(
      region,
      "flowers",
      ["rollback", "flowers"],
      (version) => version === warm.version,
    );
    return { warmSeconds: warm.seconds, weightsSeconds: weights.seconds, rollbackSeconds: back.seconds };
  });
  report("deploy", { coldSeconds: cold.seconds, ...figures });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
