import { InferenceSession, Tensor } from "onnxruntime-node";
import { UserError } from "../../core/errors.ts";
import { computeThreads } from "../thread-settings.ts";
import type { ElementType, TensorData, TensorSpec } from "./tensor.ts";

/** A loaded ONNX model. */
export interface OnnxModel {
  readonly inputs: readonly TensorSpec[];
  /** Only outputs that are tensors; others can't be read (see `unreadableOutputs`). */
  readonly outputs: readonly TensorSpec[];
  /** Names of outputs that are sequences or maps, as scikit-learn's ZipMap makes them. */
  readonly unreadableOutputs: readonly string[];
  /** Rows of several requests may be run as one: the first axis of every input and output takes any size. */
  readonly canBatch: boolean;
  /** Runs the model; `feeds` and the result are in the order of `inputs` and `outputs`. */
  run(feeds: readonly TensorData[]): Promise<TensorData[]>;
  close(): Promise<void>;
}

/**
 * Loads a model for a CPU allotment. Cost: the file is read whole.
 * Errors: UserError where the file is no model, or has no output that can be read.
 * ONNX Runtime's Node binding computes on the calling thread, so one run at a time is in progress, with the
 * allotment's threads inside it.
 */
export async function loadOnnxModel(path: string, cpuCount: number): Promise<OnnxModel> {
  const session = await createSession(path, cpuCount);
  const inputs = session.inputMetadata.map(specOf).filter((spec) => spec !== null);
  const outputs = session.outputMetadata.map(specOf).filter((spec) => spec !== null);
  const unreadableOutputs = session.outputMetadata.filter((meta) => !meta.isTensor).map((meta) => meta.name);
  if (inputs.length !== session.inputMetadata.length) {
    throw new UserError(
      "PENSTOCK_ONNX_INPUT",
      "an input of the model is not a tensor of numbers or strings",
      "export the model with tensor inputs only",
    );
  }
  if (outputs.length === 0) {
    throw new UserError(
      "PENSTOCK_ONNX_OUTPUT",
      `none of the model's outputs is a tensor (${unreadableOutputs.join(", ")})`,
      "for scikit-learn, export with options={id(model): {'zipmap': False}}",
    );
  }
  const outputNames = outputs.map((spec) => spec.name);
  return {
    inputs,
    outputs,
    unreadableOutputs,
    canBatch: inputs.length > 0 && [...inputs, ...outputs].every((spec) => typeof spec.shape[0] === "string"),
    async run(feeds) {
      const tensors: Record<string, Tensor> = {};
      for (let index = 0; index < inputs.length; index++) {
        const { type, values, dims } = feeds[index]!;
        tensors[inputs[index]!.name] = new Tensor(type, values, dims);
      }
      const answer = await session.run(tensors, outputNames);
      return outputNames.map((name) => {
        const { type, dims, data } = answer[name] as Tensor;
        return { type: type as ElementType, dims, values: data as TensorData["values"] };
      });
    },
    close: () => session.release(),
  };
}

async function createSession(path: string, cpuCount: number): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(path, {
      executionProviders: ["cpu"],
      intraOpNumThreads: computeThreads(cpuCount),
      interOpNumThreads: 1,
      executionMode: "sequential",
      logSeverityLevel: 3,
      // Idle pool threads that spin would burn the allotment that the next request needs.
      extra: { session: { intra_op: { allow_spinning: "0" } } },
    });
  } catch (error) {
    throw new UserError(
      "PENSTOCK_ONNX_LOAD",
      `the file is not a model that ONNX Runtime can load: ${error instanceof Error ? error.message : String(error)}`,
      "check that the file is whole and was exported for an opset that ONNX Runtime 1.30 knows",
    );
  }
}

function specOf(meta: InferenceSession.ValueMetadata): TensorSpec | null {
  if (!meta.isTensor || meta.type === "uint4" || meta.type === "int4") return null;
  return { name: meta.name, type: meta.type, shape: meta.shape.map((size) => size ?? "") };
}
