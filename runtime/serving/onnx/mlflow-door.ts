import type { ServingAnswer } from "../contract.ts";
import type { TensorData, TensorSpec } from "./tensor.ts";
import { describeSpec, InputError, nestedValues, tensorFromNested } from "./tensor.ts";

/** Members of an MLflow scoring request, of which exactly one may stand. */
const FORMS = ["dataframe_split", "dataframe_records", "inputs", "instances"] as const;

/**
 * A scoring request as MLflow's clients send it, as tensors in the order of `inputs`.
 * A data frame becomes the model's only input as a matrix, or one input per column where the model has several.
 * `columns`, where the model came with an input example, is the order the matrix must have.
 * Errors: InputError saying what is expected.
 */
export function parseMlflowRequest(
  body: Buffer,
  inputs: readonly TensorSpec[],
  columns: readonly string[] | null,
): TensorData[] {
  const request = parseObject(body);
  const given = FORMS.filter((form) => form in request);
  const form = given[0];
  if (form === undefined || given.length > 1) {
    throw new InputError(`give exactly one of ${FORMS.join(", ")}; got ${given.join(", ") || "none"}`);
  }
  const value = request[form];
  switch (form) {
    case "dataframe_split":
      return fromFrame(splitFrame(value), inputs, columns);
    case "dataframe_records":
      return fromFrame(recordFrame(value, form), inputs, columns);
    case "instances":
      // TensorFlow Serving's row form: each row an object of inputs, or the value of the only input.
      if (Array.isArray(value) && isObject(value[0])) return fromFrame(recordFrame(value, form), inputs, columns);
      return fromTensors(value, inputs, form);
    case "inputs":
      return fromTensors(value, inputs, form);
  }
}

/**
 * The answer in MLflow's shape. One output: its values. A classifier (labels and probabilities): the label per row,
 * as the model's own `predict` gives. Any other set of outputs: an object of all of them by name.
 */
export function mlflowAnswer(outputs: readonly TensorSpec[], results: readonly TensorData[]): ServingAnswer {
  const only = results.length === 1 || isClassifier(outputs) ? results[0]! : null;
  const predictions =
    only !== null
      ? nestedValues(only)
      : Object.fromEntries(outputs.map((spec, index) => [spec.name, nestedValues(results[index]!)]));
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify({ predictions }) };
}

/** An error in MLflow's shape. */
export function mlflowError(status: number, code: string, message: string): ServingAnswer {
  return { status, headers: JSON_TYPE, body: JSON.stringify({ error_code: code, message }) };
}

const JSON_TYPE = { "content-type": "application/json" };

interface Frame {
  readonly columns: readonly string[] | null;
  readonly rows: readonly (readonly unknown[])[];
}

/** Labels first (one per row, integers or text), then probabilities, as skl2onnx and onnxmltools export them. */
function isClassifier(outputs: readonly TensorSpec[]): boolean {
  const [label, probabilities] = outputs;
  return (
    outputs.length === 2 &&
    label !== undefined &&
    probabilities !== undefined &&
    label.shape.length === 1 &&
    (label.type === "int64" || label.type === "string") &&
    /prob|score/i.test(probabilities.name)
  );
}

function fromFrame(frame: Frame, inputs: readonly TensorSpec[], columns: readonly string[] | null): TensorData[] {
  const [only] = inputs;
  if (only !== undefined && inputs.length === 1) {
    const width = only.shape[1];
    const rows = columns !== null && frame.columns !== null ? reorder(frame, frame.columns, columns) : frame.rows;
    const given = rows[0]?.length ?? 0;
    if (typeof width === "number" && given !== width) {
      throw new InputError(`the model takes ${width} columns (${describeSpec(only)}), got ${given}`);
    }
    // A model of one plain value per row has no second axis for the column.
    return [tensorFromNested(only, only.shape.length === 1 ? rows.map((row) => row[0]) : rows)];
  }
  const named = inputs.map((spec) => spec.name);
  const rows = reorder(frame, frame.columns ?? named, named);
  return inputs.map((spec, index) => {
    const column = rows.map((row) => row[index]);
    const nested = spec.shape.length === 1 || Array.isArray(column[0]) ? column : column.map((value) => [value]);
    return tensorFromNested(spec, nested);
  });
}

function reorder(frame: Frame, given: readonly string[], wanted: readonly string[]): unknown[][] {
  const missing = wanted.filter((name) => !given.includes(name));
  const unknown = given.filter((name) => !wanted.includes(name));
  if (missing.length > 0 || unknown.length > 0) {
    const problems = [
      missing.length > 0 ? `missing column ${missing.join(", ")}` : "",
      unknown.length > 0 ? `unknown column ${unknown.join(", ")}` : "",
    ];
    throw new InputError(`${problems.filter(Boolean).join("; ")}; the model takes columns ${wanted.join(", ")}`);
  }
  const order = wanted.map((name) => given.indexOf(name));
  return frame.rows.map((row) => order.map((index) => row[index]));
}

function fromTensors(value: unknown, inputs: readonly TensorSpec[], form: string): TensorData[] {
  if (!isObject(value)) {
    const [only] = inputs;
    if (only === undefined || inputs.length > 1) {
      throw new InputError(`'${form}' must be an object with ${inputs.map((spec) => spec.name).join(", ")}`);
    }
    return [tensorFromNested(only, value)];
  }
  const unknown = Object.keys(value).filter((name) => !inputs.some((spec) => spec.name === name));
  const missing = inputs.filter((spec) => !(spec.name in value));
  if (unknown.length > 0 || missing.length > 0) {
    const expected = inputs.map((spec) => `${spec.name}: ${describeSpec(spec)}`).join(", ");
    throw new InputError(`'${form}' must have exactly the inputs ${expected}; got ${Object.keys(value).join(", ")}`);
  }
  return inputs.map((spec) => tensorFromNested(spec, value[spec.name]));
}

function splitFrame(value: unknown): Frame {
  if (!isObject(value) || !Array.isArray(value.data) || !value.data.every(Array.isArray)) {
    throw new InputError("'dataframe_split' must be an object with 'columns' and 'data' (a list of rows)");
  }
  const { columns } = value;
  const rows = value.data as unknown[][];
  if (columns === undefined) return { columns: null, rows };
  if (!Array.isArray(columns)) throw new InputError("'dataframe_split.columns' must be a list of names");
  const uneven = rows.findIndex((row) => row.length !== columns.length);
  if (uneven >= 0) {
    throw new InputError(
      `row ${uneven} of 'dataframe_split.data' has ${rows[uneven]!.length} values for ${columns.length} columns`,
    );
  }
  return { columns: columns.map(String), rows };
}

function recordFrame(value: unknown, form: string): Frame {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) {
    throw new InputError(`'${form}' must be a list of objects, one per row`);
  }
  const records = value as Record<string, unknown>[];
  const columns = Object.keys(records[0]!);
  const rows = records.map((record, index) => {
    if (Object.keys(record).length !== columns.length || columns.some((name) => !(name in record))) {
      throw new InputError(`row ${index} of '${form}' must have the columns ${columns.join(", ")}`);
    }
    return columns.map((name) => record[name]);
  });
  return { columns, rows };
}

function parseObject(body: Buffer): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new InputError(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(parsed)) throw new InputError(`the body must be a JSON object with one of ${FORMS.join(", ")}`);
  return parsed;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
