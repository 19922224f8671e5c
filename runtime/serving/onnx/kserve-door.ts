import type { ServingAnswer, ServingRequest } from "../contract.ts";
import type { TensorData, TensorSpec } from "./tensor.ts";
import {
  bytesOfTensor,
  describeSpec,
  InputError,
  jsonValues,
  tensorFromBytes,
  tensorFromFlat,
  v2NameOf,
} from "./tensor.ts";

/** Header of the binary tensor extension: bytes of JSON before the tensors' bytes. */
const JSON_LENGTH_HEADER = "inference-header-content-length";

/** One output that a client asked for. */
interface WantedOutput {
  readonly index: number;
  readonly binary: boolean;
}

/** An inference request of the KServe v2 protocol. */
export interface KserveRequest {
  readonly id: string | null;
  /** In the order of the model's inputs. */
  readonly feeds: readonly TensorData[];
  readonly wanted: readonly WantedOutput[];
}

/** Parses a v2 inference request, JSON or with binary tensors. Errors: InputError saying what is expected. */
export function parseKserveRequest(
  request: Pick<ServingRequest, "header" | "body">,
  model: {
    readonly inputs: readonly TensorSpec[];
    readonly outputs: readonly TensorSpec[];
    readonly unreadableOutputs: readonly string[];
  },
): KserveRequest {
  const { json, tail } = splitBody(request);
  const tensors = objectsOf(json.inputs, "inputs");
  const unknown = tensors.find((tensor) => !model.inputs.some((spec) => spec.name === tensor.name));
  if (unknown !== undefined || tensors.length !== model.inputs.length) {
    const expected = model.inputs.map((spec) => `${spec.name}: ${describeSpec(spec)}`).join(", ");
    throw new InputError(`'inputs' must hold exactly ${expected}`);
  }
  const byName = readTensors(tensors, tail, model.inputs);
  const feeds = model.inputs.map((spec) => {
    const feed = byName.get(spec.name);
    if (feed === undefined) throw new InputError(`input '${spec.name}' is missing: ${describeSpec(spec)}`);
    return feed;
  });
  return { id: typeof json.id === "string" ? json.id : null, feeds, wanted: wantedOutputs(json, model) };
}

/** The answer to a v2 inference request, with binary tensors where the client asked for them. */
export function kserveAnswer(
  modelName: string,
  request: KserveRequest,
  outputs: readonly TensorSpec[],
  results: readonly TensorData[],
): ServingAnswer {
  const tails: Uint8Array[] = [];
  const listed = request.wanted.map(({ index, binary }) => {
    const tensor = results[index]!;
    const head = { name: outputs[index]!.name, datatype: v2NameOf(tensor.type), shape: tensor.dims };
    if (!binary) return { ...head, data: jsonValues(tensor) };
    const bytes = bytesOfTensor(tensor);
    tails.push(bytes);
    return { ...head, parameters: { binary_data_size: bytes.byteLength } };
  });
  const json = JSON.stringify({
    model_name: modelName,
    model_version: "1",
    ...(request.id === null ? {} : { id: request.id }),
    outputs: listed,
  });
  if (tails.length === 0) return { status: 200, headers: { "content-type": "application/json" }, body: json };
  const head = Buffer.from(json, "utf8");
  return {
    status: 200,
    headers: { "content-type": "application/octet-stream", [JSON_LENGTH_HEADER]: String(head.length) },
    body: Buffer.concat([head, ...tails]),
  };
}

/** Answer of `GET /v2/models/<name>`. */
export function kserveMetadata(
  modelName: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
): ServingAnswer {
  const describe = (spec: TensorSpec): object => ({
    name: spec.name,
    datatype: v2NameOf(spec.type),
    shape: spec.shape.map((size) => (typeof size === "number" ? size : -1)),
  });
  const body = {
    name: modelName,
    versions: ["1"],
    platform: "onnxruntime_onnx",
    inputs: inputs.map(describe),
    outputs: outputs.map(describe),
  };
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** An error in the v2 shape. */
export function kserveError(status: number, message: string): ServingAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: message }) };
}

function splitBody(request: Pick<ServingRequest, "header" | "body">): { json: Record<string, unknown>; tail: Buffer } {
  const { body } = request;
  const header = request.header(JSON_LENGTH_HEADER);
  const length = header === null ? body.length : Number(header);
  if (!Number.isInteger(length) || length < 0 || length > body.length) {
    throw new InputError(`${JSON_LENGTH_HEADER} must be a number of bytes up to ${body.length}, got ${header}`);
  }
  let json: unknown;
  try {
    json = JSON.parse(body.toString("utf8", 0, length));
  } catch (error) {
    throw new InputError(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (json === null || typeof json !== "object") throw new InputError("the body must be a JSON object with 'inputs'");
  return { json: json as Record<string, unknown>, tail: body.subarray(length) };
}

function readTensors(
  tensors: readonly Record<string, unknown>[],
  tail: Buffer,
  inputs: readonly TensorSpec[],
): Map<string, TensorData> {
  const read = new Map<string, TensorData>();
  let at = 0;
  for (const tensor of tensors) {
    const spec = inputs.find(({ name }) => name === tensor.name)!;
    const wantedType = v2NameOf(spec.type);
    if (tensor.datatype !== wantedType) {
      throw new InputError(
        `input '${spec.name}' must have datatype ${wantedType} (${describeSpec(spec)}), got ${String(tensor.datatype)}`,
      );
    }
    const shape = tensor.shape;
    if (!Array.isArray(shape) || !shape.every((size) => Number.isInteger(size) && (size as number) >= 0)) {
      throw new InputError(`input '${spec.name}' needs 'shape', a list of sizes`);
    }
    const size = parameterOf(tensor, "binary_data_size");
    if (typeof size === "number") {
      read.set(spec.name, tensorFromBytes(spec, shape as number[], tail.subarray(at, at + size)));
      at += size;
    } else read.set(spec.name, tensorFromFlat(spec, shape as number[], tensor.data));
  }
  if (at !== tail.length) {
    throw new InputError(`binary data is ${tail.length} bytes, the inputs' binary_data_size sum to ${at}`);
  }
  return read;
}

function wantedOutputs(
  json: Record<string, unknown>,
  model: { readonly outputs: readonly TensorSpec[]; readonly unreadableOutputs: readonly string[] },
): WantedOutput[] {
  const allBinary = parameterOf(json, "binary_data_output") === true;
  if (json.outputs === undefined) return model.outputs.map((_, index) => ({ index, binary: allBinary }));
  return objectsOf(json.outputs, "outputs").map((output) => {
    const name = String(output.name);
    if (model.unreadableOutputs.includes(name)) {
      throw new InputError(`output '${name}' is a sequence or map, not a tensor; export the model with zipmap=False`);
    }
    const index = model.outputs.findIndex((spec) => spec.name === name);
    if (index < 0) {
      throw new InputError(`no output '${name}'; the model has ${model.outputs.map((spec) => spec.name).join(", ")}`);
    }
    const binary = parameterOf(output, "binary_data");
    return { index, binary: typeof binary === "boolean" ? binary : allBinary };
  });
}

function objectsOf(value: unknown, name: string): Record<string, unknown>[] {
  if (!Array.isArray(value) || !value.every((member) => member !== null && typeof member === "object")) {
    throw new InputError(`'${name}' must be a list of objects`);
  }
  return value as Record<string, unknown>[];
}

function parameterOf(holder: Record<string, unknown>, name: string): unknown {
  const parameters = holder.parameters;
  return parameters !== null && typeof parameters === "object"
    ? (parameters as Record<string, unknown>)[name]
    : undefined;
}
