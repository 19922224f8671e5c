import type { InProcessRuntime } from "../contract.ts";
import { INFER } from "./classes.ts";

/** ONNX models, in process. The library is loaded at the start of an engine. */
export const onnxRuntime: InProcessRuntime = {
  classes: [INFER],
  start: async (context) => (await import("./engine.ts")).startOnnx(context),
};
