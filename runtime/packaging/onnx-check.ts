import { open } from "node:fs/promises";
import { UserError } from "../core/errors.ts";
import { FileReader, UnexpectedEnd } from "./file-reader.ts";

/** Field numbers of ModelProto. Source: onnx.proto. */
const FIELD_IR_VERSION = 1;
const FIELD_GRAPH = 7;
const LARGEST_FIELD = 100;

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

/**
 * Walks the outermost fields of an ONNX file (a protobuf ModelProto) and checks that they end where the file ends and
 * that there is a graph. Costs a few reads whatever the file's size. Errors: UserError PENSTOCK_MODEL_BROKEN.
 */
export async function checkOnnx(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    await walk(path, new FileReader(handle, size)).catch((error: unknown) => {
      if (error instanceof UnexpectedEnd) throw broken(path, `it is truncated at ${size} bytes`);
      throw error;
    });
  } finally {
    await handle.close();
  }
}

async function walk(path: string, reader: FileReader): Promise<void> {
  const seen = new Set<number>();
  while (!reader.atEnd) {
    const tag = await readVarint(path, reader);
    const field = Math.floor(tag / 8);
    if (field < 1 || field > LARGEST_FIELD) throw broken(path, "its bytes are not those of an ONNX model");
    seen.add(field);
    await skipField(path, reader, tag % 8);
  }
  if (!seen.has(FIELD_IR_VERSION) || !seen.has(FIELD_GRAPH)) throw broken(path, "there is no graph in it");
}

async function skipField(path: string, reader: FileReader, wireType: number): Promise<void> {
  if (wireType === WIRE_VARINT) await readVarint(path, reader);
  else if (wireType === WIRE_FIXED64) await reader.skip(8);
  else if (wireType === WIRE_BYTES) await reader.skip(await readVarint(path, reader));
  else if (wireType === WIRE_FIXED32) await reader.skip(4);
  else throw broken(path, "its bytes are not those of an ONNX model");
}

async function readVarint(path: string, reader: FileReader): Promise<number> {
  const MAX_VARINT_BYTES = 10;
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES; index++) {
    const byte = await reader.u8();
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return value;
  }
  throw broken(path, "its bytes are not those of an ONNX model");
}

function broken(path: string, what: string): UserError {
  return new UserError(
    "PENSTOCK_MODEL_BROKEN",
    `${path} is not a whole ONNX file: ${what}`,
    "Export or copy the file again, then deploy once more.",
  );
}
