import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { ProbeRequest, Probes } from "../contract.ts";

/** The one request class of a pyfunc model. */
export const PREDICT = "predict";

/** The parts of MLmodel that say how to ask the model. */
interface MlModel {
  readonly flavors: { readonly python_function?: { readonly loader_module?: string } };
  readonly signature?: { readonly inputs?: string | null } | null;
}

interface Column {
  readonly type: string;
  readonly name?: string;
  readonly "tensor-spec"?: { readonly dtype: string; readonly shape: readonly number[] };
}

/** Longest example that is told in a model's metadata: a line to copy. */
const MAX_EXAMPLE_CHARS = 4_096;

/** What a model's own files say of it. */
export interface ModelFacts {
  readonly loaderModule: string | null;
  readonly probes: Probes;
  /** The first row of the request that was saved with the model; null where there is none, or it is too long for a line. */
  readonly exampleRequest: unknown;
}

/** What the model's own files say of how to load it and how to ask it. */
export async function readModelFacts(modelDir: string): Promise<ModelFacts> {
  const model = parse(await readFile(join(modelDir, "MLmodel"), "utf8")) as MlModel;
  const example = await readExample(modelDir);
  const body = example ?? bodyFromSignature(model.signature?.inputs ?? null);
  const probes: Probes =
    body === null
      ? { warmUps: [], canaries: [] }
      : { warmUps: [predictRequest(body)], canaries: [predictRequest(firstRow(body))] };
  const row = example === null ? null : firstRow(example);
  return {
    loaderModule: model.flavors.python_function?.loader_module ?? null,
    probes,
    exampleRequest: row === null || row.length > MAX_EXAMPLE_CHARS ? null : JSON.parse(row),
  };
}

/** The request saved with a model; MLflow before 2.14 saved the input alone, a data frame as `columns` and `data`. */
async function readExample(modelDir: string): Promise<string | null> {
  const read = (name: string): Promise<string | null> => readFile(join(modelDir, name), "utf8").catch(() => null);
  const request = await read("serving_input_example.json");
  if (request !== null) return request;
  const input = await read("input_example.json");
  return input === null ? null : requestFromInput(input);
}

/** A request made from a saved input; null where its form is not known. */
export function requestFromInput(input: string): string | null {
  const example: unknown = JSON.parse(input);
  if (typeof example !== "object" || example === null || Array.isArray(example)) return null;
  if ("columns" in example && "data" in example) return JSON.stringify({ dataframe_split: example });
  return "inputs" in example || "instances" in example ? input : null;
}

function predictRequest(body: string): ProbeRequest {
  const headers = { "content-type": "application/json" };
  return { requestClass: PREDICT, method: "POST", path: "/invocations", headers, body };
}

/** One row of zeros in the shape of the signature; null where the signature is absent or of another kind. */
export function bodyFromSignature(inputs: string | null): string | null {
  if (inputs === null) return null;
  const columns = JSON.parse(inputs) as readonly Column[];
  const tensors = columns.filter((column) => column.type === "tensor");
  if (tensors.length > 0) {
    const zeros = tensors.map((column) => [column.name, zerosOf(column)] as const);
    const [only] = zeros;
    return JSON.stringify({ inputs: only?.[0] === undefined ? only?.[1] : Object.fromEntries(zeros) });
  }
  if (columns.length === 0 || columns.some((column) => !(column.type in ZERO_OF_TYPE))) return null;
  const named = columns.every((column) => column.name !== undefined);
  return JSON.stringify({
    dataframe_split: {
      ...(named ? { columns: columns.map((column) => column.name) } : {}),
      data: [columns.map((column) => ZERO_OF_TYPE[column.type])],
    },
  });
}

/** A harmless value of each column type of an MLflow signature. */
const ZERO_OF_TYPE: Readonly<Record<string, unknown>> = {
  boolean: false,
  integer: 0,
  long: 0,
  float: 0,
  double: 0,
  string: "",
  datetime: "2000-01-01T00:00:00",
};

function zerosOf(column: Column): unknown {
  const { shape = [], dtype = "float32" } = column["tensor-spec"] ?? {};
  const zero = dtype === "bool" ? false : /^(?:str|object|U)/.test(dtype) ? "" : 0;
  return shape.reduceRight<unknown>((inner, size) => Array.from({ length: Math.max(size, 1) }, () => inner), zero);
}

/** The example cut down to its first row, where its form has rows. */
export function firstRow(body: string): string {
  const example = JSON.parse(body) as Record<string, unknown>;
  const split = example.dataframe_split as { readonly data?: unknown } | undefined;
  if (Array.isArray(split?.data)) {
    const { index: _index, ...rest } = split as { readonly index?: unknown };
    return JSON.stringify({ ...example, dataframe_split: { ...rest, data: split.data.slice(0, 1) } });
  }
  for (const key of ["dataframe_records", "instances", "inputs"]) {
    const rows = example[key];
    if (Array.isArray(rows)) return JSON.stringify({ ...example, [key]: rows.slice(0, 1) });
  }
  return body;
}
