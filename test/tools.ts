/**
 * Brings what the tests need beyond the npm packages into the cache: the example models that are fetched, models saved
 * by MLflow with their environments, and a Python with the clients. Usage: node bin/bootstrap.mjs run test/tools.ts
 * What is there already is not made again.
 */
import { join } from "node:path";
import { bar } from "../cli/terminal/bar.ts";
import { processTerminal } from "../cli/terminal/terminal.ts";
import { systemClock } from "../runtime/adapters/clock.ts";
import { UserError } from "../runtime/core/errors.ts";
import { type FetchContext, fetchModel } from "../runtime/node/fetch/fetch-model.ts";
import { readRegionFile } from "../runtime/regions/region-settings.ts";
import { makeClientPython } from "./clients/python.ts";
import { buildPrograms } from "./cluster/programs.ts";
import { makeModels } from "./mlflow/make-models.ts";
import { cacheDir } from "./mlflow/models-dir.ts";

const EXAMPLE_REGION = join(import.meta.dirname, "..", "examples", "region.yaml");
/** Where nothing can be overwritten, progress is told in these steps. */
const STEP_PERCENT = 25;

const terminal = processTerminal(false);
const context = { cacheDir, clock: systemClock, signal: new AbortController().signal };

async function main(): Promise<void> {
  for (const { name, model, modelSha256 } of readRegionFile(EXAMPLE_REGION).endpoints) {
    const { path } = await fetchModel(model, modelSha256, { ...context, onProgress: progressOf(name) });
    terminal.note(`${name}: ${path}`);
  }
  const models = await makeModels({ ...context, onProgress: (doing) => terminal.note(`MLflow models: ${doing}`) });
  terminal.note(`MLflow models: ${models}`);
  const python = await makeClientPython({ ...context, onProgress: (doing) => terminal.note(`clients: ${doing}`) });
  terminal.note(`clients: ${python}`);
  await buildPrograms({ ...context, onProgress: (doing) => terminal.note(`cluster: ${doing}`) });
}

function progressOf(name: string): FetchContext["onProgress"] {
  let told = "";
  return (doing, progress) => {
    const ratio = progress?.totalBytes ? progress.doneBytes / progress.totalBytes : null;
    if (terminal.live) terminal.draw(`${name}: ${doing}${ratio === null ? "" : ` ${bar(ratio)}`}`);
    const percent = ratio === null ? "" : ` ${Math.floor((100 * ratio) / STEP_PERCENT) * STEP_PERCENT} %`;
    const line = `${name}: ${doing}${percent}`;
    if (!terminal.live && line !== told) terminal.note(line);
    told = line;
  };
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  terminal.note(`error: ${error.message}\ntodo: ${error.todo}`);
  process.exitCode = 1;
}
