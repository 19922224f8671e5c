import type { Tensor } from "onnxruntime-node";

/** Element types that models here use; the names are ONNX Runtime's. */
export type ElementType = Exclude<Tensor.Type, "uint4" | "int4">;

/** Values of a tensor in row-major order. */
export type TensorValues = Exclude<Tensor.DataType, Uint8ClampedArray>;

/** A tensor as it comes from a request or goes into an answer. */
export interface TensorData {
  readonly type: ElementType;
  readonly dims: readonly number[];
  readonly values: TensorValues;
}

/** An input or output of a model: a dimension is a number, or a name (maybe empty) where any size is taken. */
export interface TensorSpec {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly (number | string)[];
}

/** Bad input, in words for the client; each door gives it its own shape. */
export class InputError extends Error {
  override readonly name = "InputError";
}

interface ElementRule {
  /** Name of the type in the KServe v2 protocol. */
  readonly v2: string;
  readonly bytes: number;
  /** Makes the array for `length` elements. */
  make(length: number): TensorValues;
}

// Half floats arrive as Float16Array, which the runtime's own tensors use where the engine has it (Node 24 does).
const Float16 = (globalThis as unknown as { Float16Array: new (length: number) => Uint16Array }).Float16Array;

const ELEMENT_RULES: Readonly<Record<ElementType, ElementRule>> = {
  float32: { v2: "FP32", bytes: 4, make: (length) => new Float32Array(length) },
  float64: { v2: "FP64", bytes: 8, make: (length) => new Float64Array(length) },
  float16: { v2: "FP16", bytes: 2, make: (length) => new Float16(length) },
  int8: { v2: "INT8", bytes: 1, make: (length) => new Int8Array(length) },
  int16: { v2: "INT16", bytes: 2, make: (length) => new Int16Array(length) },
  int32: { v2: "INT32", bytes: 4, make: (length) => new Int32Array(length) },
  int64: { v2: "INT64", bytes: 8, make: (length) => new BigInt64Array(length) },
  uint8: { v2: "UINT8", bytes: 1, make: (length) => new Uint8Array(length) },
  uint16: { v2: "UINT16", bytes: 2, make: (length) => new Uint16Array(length) },
  uint32: { v2: "UINT32", bytes: 4, make: (length) => new Uint32Array(length) },
  uint64: { v2: "UINT64", bytes: 8, make: (length) => new BigUint64Array(length) },
  bool: { v2: "BOOL", bytes: 1, make: (length) => new Uint8Array(length) },
  string: { v2: "BYTES", bytes: 0, make: (length) => new Array<string>(length) },
};

/** The KServe v2 name of an element type. */
export function v2NameOf(type: ElementType): string {
  return ELEMENT_RULES[type].v2;
}

/** Number of elements of a shape. */
export function elementCount(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

/** `float32[batch, 4]`: a spec in words, for errors. */
export function describeSpec(spec: Pick<TensorSpec, "type" | "shape">): string {
  const sizes = spec.shape.map((size) => (typeof size === "number" ? String(size) : size === "" ? "any" : size));
  return `${spec.type}[${sizes.join(", ")}]`;
}

/** Errors: InputError unless `dims` fit the spec. */
function checkShape(spec: TensorSpec, dims: readonly number[]): void {
  const fits =
    dims.length === spec.shape.length &&
    spec.shape.every((wanted, axis) => typeof wanted === "string" || wanted === dims[axis]);
  if (!fits) throw new InputError(`input '${spec.name}' must be ${describeSpec(spec)}, got shape [${dims.join(", ")}]`);
}

/** A tensor from nested JSON arrays. Errors: InputError where it is ragged, of another shape, or a value doesn't fit. */
export function tensorFromNested(spec: TensorSpec, nested: unknown): TensorData {
  const dims: number[] = [];
  for (let level: unknown = nested; Array.isArray(level); level = level[0]) dims.push(level.length);
  checkShape(spec, dims);
  const values = ELEMENT_RULES[spec.type].make(elementCount(dims));
  const set = setterOf(spec, values);
  let at = 0;
  const fill = (level: unknown, axis: number): void => {
    if (axis === dims.length) {
      set(at++, level);
      return;
    }
    if (!Array.isArray(level) || level.length !== dims[axis]) {
      throw new InputError(`input '${spec.name}' is ragged: every row of axis ${axis} must hold ${dims[axis]} values`);
    }
    for (const member of level) fill(member, axis + 1);
  };
  fill(nested, 0);
  return { type: spec.type, dims, values };
}

/** A tensor from a flat (or nested) JSON array with its shape given, as KServe v2 sends it. */
export function tensorFromFlat(spec: TensorSpec, dims: readonly number[], data: unknown): TensorData {
  checkShape(spec, dims);
  const flat = Array.isArray(data) ? (data.flat(Number.POSITIVE_INFINITY) as unknown[]) : [];
  const count = elementCount(dims);
  if (flat.length !== count) {
    throw new InputError(
      `input '${spec.name}' of shape [${dims.join(", ")}] needs ${count} values, got ${Array.isArray(data) ? flat.length : "none"}`,
    );
  }
  const values = ELEMENT_RULES[spec.type].make(count);
  const set = setterOf(spec, values);
  for (let index = 0; index < count; index++) set(index, flat[index]);
  return { type: spec.type, dims, values };
}

/** A tensor from the bytes of the KServe v2 binary extension (little endian; strings as u32 length and UTF-8). */
export function tensorFromBytes(spec: TensorSpec, dims: readonly number[], bytes: Uint8Array): TensorData {
  checkShape(spec, dims);
  const count = elementCount(dims);
  if (spec.type === "string") return { type: "string", dims, values: stringsFromBytes(spec.name, count, bytes) };
  const wanted = count * ELEMENT_RULES[spec.type].bytes;
  if (bytes.byteLength !== wanted) {
    throw new InputError(`input '${spec.name}' needs ${wanted} bytes of binary data, got ${bytes.byteLength}`);
  }
  const values = ELEMENT_RULES[spec.type].make(count) as Exclude<TensorValues, string[]>;
  new Uint8Array(values.buffer).set(bytes);
  return { type: spec.type, dims, values };
}

/** The bytes of a tensor in the KServe v2 binary extension. */
export function bytesOfTensor(tensor: TensorData): Uint8Array {
  const { values } = tensor;
  if (!Array.isArray(values)) return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const pieces: Buffer[] = [];
  for (const text of values) {
    const utf8 = Buffer.from(text, "utf8");
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(utf8.length, 0);
    pieces.push(length, utf8);
  }
  return Buffer.concat(pieces);
}

/** The values as JSON has them, flat. 64-bit integers become numbers: exact up to 2^53, as JSON readers take them. */
export function jsonValues(tensor: TensorData): (number | string | boolean | null)[] {
  const { type, values } = tensor;
  if (Array.isArray(values)) return values;
  if (type === "bool") return Array.from(values as Uint8Array, (value) => value !== 0);
  return Array.from(values as Float64Array, Number);
}

/** The values as nested JSON arrays of the tensor's shape. */
export function nestedValues(tensor: TensorData): unknown {
  let level: unknown[] = jsonValues(tensor);
  for (let axis = tensor.dims.length - 1; axis > 0; axis--) {
    const size = tensor.dims[axis]!;
    const groups: unknown[] = [];
    for (let at = 0; at < level.length; at += size) groups.push(level.slice(at, at + size));
    level = groups;
  }
  return tensor.dims.length === 0 ? level[0] : level;
}

/** An array of the type with `length` elements, zero or empty. */
export function zeroValues(type: ElementType, length: number): TensorValues {
  const values = ELEMENT_RULES[type].make(length);
  return Array.isArray(values) ? values.fill("") : values;
}

function setterOf(spec: TensorSpec, values: TensorValues): (index: number, value: unknown) => void {
  const wrong = (value: unknown): InputError =>
    new InputError(`input '${spec.name}' holds ${JSON.stringify(value) ?? "nothing"}, which is not a ${spec.type}`);
  if (Array.isArray(values)) {
    return (index, value) => {
      if (typeof value !== "string") throw wrong(value);
      values[index] = value;
    };
  }
  if (spec.type === "bool") {
    return (index, value) => {
      if (typeof value !== "boolean" && value !== 0 && value !== 1) throw wrong(value);
      values[index] = Number(value);
    };
  }
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    return (index, value) => {
      if (typeof value !== "number" || !Number.isInteger(value)) throw wrong(value);
      values[index] = BigInt(value);
    };
  }
  const numbers = values as Float64Array;
  if (spec.type.startsWith("float")) {
    return (index, value) => {
      // A missing value of a data frame comes as null and means NaN, as pandas writes it.
      if (value === null) numbers[index] = Number.NaN;
      else if (typeof value === "number") numbers[index] = value;
      else throw wrong(value);
    };
  }
  return (index, value) => {
    if (typeof value !== "number") throw wrong(value);
    numbers[index] = value;
    if (numbers[index] !== value) throw wrong(value);
  };
}

function stringsFromBytes(name: string, count: number, bytes: Uint8Array): string[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings: string[] = [];
  let at = 0;
  while (at + 4 <= view.length && strings.length < count) {
    const end = at + 4 + view.readUInt32LE(at);
    if (end > view.length) break;
    strings.push(view.toString("utf8", at + 4, end));
    at = end;
  }
  if (strings.length !== count || at !== view.length) {
    throw new InputError(`input '${name}' needs ${count} strings, each as 4 bytes of length and its UTF-8`);
  }
  return strings;
}
