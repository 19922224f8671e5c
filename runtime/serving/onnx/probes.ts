import type { ProbeRequest, Probes } from "../contract.ts";
import type { TensorSpec } from "./tensor.ts";
import { elementCount, jsonValues, v2NameOf, zeroValues } from "./tensor.ts";

/**
 * Size taken for a free dimension past the first: long enough for token sequences to be real, short enough to be
 * quick on one core.
 */
const FREE_DIMENSION = 16;

/** Requests for warm-up and canary: the input example, or one row made from the model's own signature. */
export function probesOf(requestClass: string, inputs: readonly TensorSpec[], example: string | null): Probes {
  const probe: ProbeRequest =
    example !== null
      ? { requestClass, method: "POST", path: "/invocations", headers: JSON_TYPE, body: example }
      : {
          requestClass,
          method: "POST",
          path: "/v2/models/model/infer",
          headers: JSON_TYPE,
          body: JSON.stringify({ inputs: inputs.map(madeInput) }),
          madeUp: true,
        };
  return { warmUps: [probe], canaries: [probe] };
}

const JSON_TYPE = { "content-type": "application/json" };

function madeInput(spec: TensorSpec): object {
  const shape = spec.shape.map((size, axis) => (typeof size === "number" ? size : axis === 0 ? 1 : FREE_DIMENSION));
  // Zeros are inside every vocabulary and every range that models check.
  const values = zeroValues(spec.type, elementCount(shape));
  return {
    name: spec.name,
    datatype: v2NameOf(spec.type),
    shape,
    data: jsonValues({ type: spec.type, dims: shape, values }),
  };
}
