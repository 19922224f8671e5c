import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { parse } from "yaml";
import { UserError } from "../core/errors.ts";
import type { RuntimeKind } from "../domain/version.ts";
import { isFile, listFiles } from "./artifact-files.ts";

/** What an artifact turned out to be. */
export interface Detected {
  readonly runtime: RuntimeKind;
  /** Folder that `files` are relative to. */
  readonly root: string;
  /** The files that make the model, `/` between parts, in byte order. */
  readonly files: readonly string[];
  /** The file the engine opens, relative to `root`; "" where it takes the whole folder. */
  readonly entry: string;
}

/** What may stand at `model`, for messages. */
const ALLOWED =
  "a folder saved by MLflow (with MLmodel), an .onnx file or a folder with one, a .gguf file or a folder with one, or any folder together with a command (--command, or run.command in a file)";

/** Files whose format says nothing of how to serve them, and the way on. */
const ADVICE: Readonly<Record<string, string>> = {
  ".pkl": "Save the model with MLflow (`mlflow.sklearn.save_model(model, FOLDER)`) and name that folder.",
  ".joblib": "Save the model with MLflow (`mlflow.sklearn.save_model(model, FOLDER)`) and name that folder.",
  ".pt": "Save the model with MLflow (`mlflow.pytorch.save_model`) or export it to ONNX (`torch.onnx.export`).",
  ".pth": "Save the model with MLflow (`mlflow.pytorch.save_model`) or export it to ONNX (`torch.onnx.export`).",
  ".keras": "Save the model with MLflow (`mlflow.tensorflow.save_model`) or export it to ONNX.",
  ".h5": "Save the model with MLflow (`mlflow.tensorflow.save_model`) or export it to ONNX.",
};

/**
 * Looks at what stands at `path` and says how it is to be run. `wanted` other than `auto` must agree with what is seen.
 * Errors: UserError that names what was seen, what is allowed and the next step.
 */
export async function detectArtifact(path: string, wanted: RuntimeKind | "auto"): Promise<Detected> {
  const entry = await stat(path).catch(() => null);
  if (entry === null) {
    throw new UserError("PENSTOCK_MODEL_NOT_FOUND", `there is nothing at ${path}`, "Check the path in `model`.");
  }
  if (!entry.isFile() && !entry.isDirectory()) {
    // A pipe would keep its reader waiting for ever, a device never ends.
    throw new UserError("PENSTOCK_NOT_A_MODEL", `${path} is neither a file nor a folder`, `Allowed is ${ALLOWED}.`);
  }
  if (wanted === "custom") return detectCustom(path, entry.isDirectory());
  const detected = entry.isDirectory() ? await detectFolder(path) : await detectFile(path);
  if (wanted !== "auto" && wanted !== detected.runtime) {
    throw new UserError(
      "PENSTOCK_RUNTIME_MISMATCH",
      `${path} is for the runtime '${detected.runtime}', and the endpoint asks for '${wanted}'`,
      `Leave out 'runtime', or set it to '${detected.runtime}'.`,
    );
  }
  return detected;
}

async function detectCustom(path: string, isFolder: boolean): Promise<Detected> {
  const root = isFolder ? path : dirname(path);
  return {
    runtime: "custom",
    root,
    files: isFolder ? await listFiles(path) : [basename(path)],
    entry: isFolder ? "" : basename(path),
  };
}

async function detectFile(path: string): Promise<Detected> {
  const root = dirname(path);
  const name = basename(path);
  if (name === "MLmodel") return detectMlflow(root, await listFiles(root));
  const extension = extname(name).toLowerCase();
  if (extension === ".onnx" || extension === ".gguf")
    return detectModelFile(root, name, await listSiblings(root, name));
  throw notAModel(path, [name]);
}

async function detectFolder(root: string): Promise<Detected> {
  const files = await listFiles(root);
  if (files.includes("MLmodel")) return detectMlflow(root, files);
  const onnx = files.filter((file) => file.toLowerCase().endsWith(".onnx"));
  const gguf = files.filter((file) => file.toLowerCase().endsWith(".gguf") && shardNumber(file) <= 1);
  const models = [...onnx, ...gguf];
  const [only] = models;
  if (only !== undefined && models.length === 1) return detectModelFile(root, only, files);
  if (models.length > 1) {
    throw new UserError(
      "PENSTOCK_ARTIFACT_AMBIGUOUS",
      `${root} holds ${models.length} models: ${sample(models)}`,
      "Name one of these files in `model`.",
    );
  }
  throw notAModel(root, files);
}

function detectModelFile(root: string, entry: string, files: readonly string[]): Detected {
  return { runtime: entry.toLowerCase().endsWith(".onnx") ? "onnx" : "gguf", root, files, entry };
}

/** An MLflow folder must have the generic Python flavour: it is what the scoring server loads. */
async function detectMlflow(root: string, files: readonly string[]): Promise<Detected> {
  let flavors: unknown;
  try {
    flavors = (parse(await readFile(join(root, "MLmodel"), "utf8")) as { flavors?: unknown } | null)?.flavors;
  } catch (error) {
    const [firstLine] = (error as Error).message.split("\n");
    throw new UserError(
      "PENSTOCK_MLMODEL_BROKEN",
      `${join(root, "MLmodel")} is not readable YAML: ${firstLine}`,
      "Save the model again with MLflow.",
    );
  }
  const names = flavors !== null && typeof flavors === "object" ? Object.keys(flavors) : [];
  if (names.includes("python_function")) return { runtime: "mlflow", root, files, entry: "" };
  throw new UserError(
    "PENSTOCK_MLMODEL_NO_PYFUNC",
    `${join(root, "MLmodel")} has no python_function flavour (it has: ${names.join(", ") || "none"})`,
    "Save the model with a flavour that MLflow can serve, for example `mlflow.pyfunc.save_model`.",
  );
}

/** The files that belong to a single model file: further shards of a GGUF, external data of an ONNX. */
async function listSiblings(root: string, name: string): Promise<readonly string[]> {
  const stem = name.slice(0, -extname(name).length);
  const beside = (await readdir(root)).filter((file) =>
    name.toLowerCase().endsWith(".gguf")
      ? shardNumber(file) > 1 && shardFamily(file) === shardFamily(name)
      : [`${name}.data`, `${name}_data`, `${stem}.data`].includes(file),
  );
  const files = [name];
  for (const file of beside) if (await isFile(join(root, file))) files.push(file);
  return files.toSorted();
}

/** `model-00002-of-00003.gguf` is shard 2 of the family `model-*-of-00003`; a file that is no shard is number 0. */
const SHARD = /-(\d{5})-of-(\d{5})\.gguf$/i;

function shardNumber(file: string): number {
  return Number(SHARD.exec(file)?.[1] ?? 0);
}

function shardFamily(file: string): string {
  return file.replace(SHARD, "-of-$2");
}

function notAModel(path: string, files: readonly string[]): UserError {
  const names = new Set(files);
  if (names.has("config.json") && files.some((file) => file.endsWith(".safetensors"))) {
    return new UserError(
      "PENSTOCK_RUNTIME_NOT_HERE",
      `${path} is a Hugging Face model (config.json and safetensors), which needs the vllm runtime of a cluster region`,
      "For a region on one machine, convert it to GGUF (llama.cpp's convert_hf_to_gguf.py) or export it to ONNX, and name that file.",
    );
  }
  const nested = files.find((file) => file.endsWith("/MLmodel"));
  if (nested !== undefined) {
    return new UserError(
      "PENSTOCK_MODEL_IN_SUBFOLDER",
      `${path} is no model itself; there is one in ${join(path, dirname(nested))}`,
      `Name that folder: ${join(path, dirname(nested))}`,
    );
  }
  const extension = files.map((file) => extname(file).toLowerCase()).find((found) => found in ADVICE);
  return new UserError(
    "PENSTOCK_NOT_A_MODEL",
    `${path} is nothing that can be served; it holds ${files.length === 0 ? "no files" : sample(files)}. Allowed is ${ALLOWED}`,
    (extension === undefined ? undefined : ADVICE[extension]) ??
      "Name a model of one of these kinds, or give a command that starts a server which listens on $PORT.",
  );
}

function sample(files: readonly string[]): string {
  const SHOWN = 6;
  const more = files.length > SHOWN ? ` and ${files.length - SHOWN} more` : "";
  return files.slice(0, SHOWN).join(", ") + more;
}
