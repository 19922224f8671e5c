import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Element types of ONNX's TensorProto. */
const FLOAT = 1;
const INT64 = 7;

/**
 * Writes a real ONNX classifier of two classes, made without any ONNX tool: `X: float32[N, 2]` gives
 * `label: int64[N]` (the larger column's index) and `probabilities: float32[N, 2]` (softmax of the row).
 * Returns the file's path.
 */
export function writeTinyClassifier(): string {
  const graph = [
    text(2, "tiny"),
    bytes(1, node("ArgMax", "X", "label", attribute("axis", 1), attribute("keepdims", 0))),
    bytes(1, node("Softmax", "X", "probabilities", attribute("axis", 1))),
    bytes(11, valueInfo("X", FLOAT, ["N", 2])),
    bytes(12, valueInfo("label", INT64, ["N"])),
    bytes(12, valueInfo("probabilities", FLOAT, ["N", 2])),
  ];
  const opset = Buffer.concat([text(1, ""), integer(2, 13)]);
  const model = Buffer.concat([integer(1, 8), bytes(7, Buffer.concat(graph)), bytes(8, opset)]);
  const path = join(mkdtempSync(join(tmpdir(), "penstock-onnx-")), "tiny.onnx");
  writeFileSync(path, model);
  return path;
}

function node(operator: string, input: string, output: string, ...attributes: readonly Buffer[]): Buffer {
  return Buffer.concat([text(1, input), text(2, output), text(4, operator), ...attributes]);
}

function attribute(name: string, value: number): Buffer {
  const attributeTypeInt = 2;
  return bytes(5, Buffer.concat([text(1, name), integer(3, value), integer(20, attributeTypeInt)]));
}

function valueInfo(name: string, elementType: number, dims: readonly (number | string)[]): Buffer {
  const shape = Buffer.concat(
    dims.map((size) => bytes(1, typeof size === "number" ? integer(1, size) : text(2, size))),
  );
  const tensor = Buffer.concat([integer(1, elementType), bytes(2, shape)]);
  return Buffer.concat([text(1, name), bytes(2, bytes(1, tensor))]);
}

// Protocol Buffers' wire format: a tag of field number and kind (0 = varint, 2 = length and bytes), then the value.
// Every number here is under 128, so that a varint is one byte; lengths may take more.
function integer(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value, "utf8"));
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
}

function varint(value: number): Buffer {
  const groups: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    groups.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return Buffer.from(groups);
  }
}
