import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../runtime/core/canonical.ts";
import { cacheDir as cacheDirOfRegions } from "../../runtime/regions/cache-dir.ts";

/** The models' own sources. */
export const EXAMPLE_DIR = join(import.meta.dirname, "../../examples/mlflow");

/** The cache that all regions of the machine share. */
export const cacheDir = cacheDirOfRegions();

const sources = ["train.py", "waits.py", "requirements.txt", "python_env.yaml"];

/** Where make-models.ts keeps what it made: a folder per model and expected.json. Named by what went into it. */
export const modelsDir = join(
  cacheDir,
  "examples",
  sha256Hex(sources.map((name) => readFileSync(join(EXAMPLE_DIR, name), "utf8")).join("\0")).slice(0, 16),
);
