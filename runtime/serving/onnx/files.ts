import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UserError } from "../../core/errors.ts";

/** Names under which an input example may lie beside the model, the first that exists is taken. */
const EXAMPLE_FILES = ["serving_input_example.json", "input_example.json"] as const;

/** The model file of an artifact: the file itself, or the only `.onnx` (or `model.onnx`) of a folder. */
export async function findModelFile(path: string): Promise<string> {
  if (!(await stat(path)).isDirectory()) return path;
  const files = (await readdir(path)).filter((name) => name.endsWith(".onnx"));
  const file = files.includes("model.onnx") ? "model.onnx" : files.length === 1 ? files[0] : undefined;
  if (file === undefined) {
    throw new UserError(
      "PENSTOCK_ONNX_FILE",
      `the folder holds ${files.length === 0 ? "no .onnx file" : `several .onnx files (${files.join(", ")})`}`,
      "deploy the .onnx file itself, or name one of them model.onnx",
    );
  }
  return join(path, file);
}

/** An MLflow scoring request that lies beside the model, and the columns it names. */
export interface InputExample {
  readonly body: string;
  readonly columns: readonly string[] | null;
}

/** Reads the input example beside the model, or null where there is none that can be used. */
export async function readInputExample(modelFile: string): Promise<InputExample | null> {
  for (const name of EXAMPLE_FILES) {
    try {
      const body = await readFile(join(dirname(modelFile), name), "utf8");
      return { body, columns: columnsOf(JSON.parse(body)) };
    } catch {
      // No such file, or not JSON: a made-up input serves as well.
    }
  }
  return null;
}

function columnsOf(example: unknown): string[] | null {
  const split = (example as { dataframe_split?: { columns?: unknown } } | null)?.dataframe_split;
  if (Array.isArray(split?.columns)) return split.columns.map(String);
  const records = (example as { dataframe_records?: unknown } | null)?.dataframe_records;
  return Array.isArray(records) && records[0] !== null && typeof records[0] === "object"
    ? Object.keys(records[0] as object)
    : null;
}
