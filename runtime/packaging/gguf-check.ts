import { open } from "node:fs/promises";
import { UserError } from "../core/errors.ts";
import { bytesText } from "../core/format.ts";
import { FileReader, UnexpectedEnd } from "./file-reader.ts";

/** [elements of a block, bytes of a block] by ggml type number. Source: ggml.h and ggml-common.h, block_* structs. */
const BLOCK_OF_TYPE: ReadonlyMap<number, readonly [number, number]> = new Map([
  [0, [1, 4]],
  [1, [1, 2]],
  [2, [32, 18]],
  [3, [32, 20]],
  [6, [32, 22]],
  [7, [32, 24]],
  [8, [32, 34]],
  [9, [32, 36]],
  [10, [256, 84]],
  [11, [256, 110]],
  [12, [256, 144]],
  [13, [256, 176]],
  [14, [256, 210]],
  [15, [256, 292]],
  [16, [256, 66]],
  [17, [256, 74]],
  [18, [256, 98]],
  [19, [256, 50]],
  [20, [32, 18]],
  [21, [256, 110]],
  [22, [256, 82]],
  [23, [256, 136]],
  [24, [1, 1]],
  [25, [1, 2]],
  [26, [1, 4]],
  [27, [1, 8]],
  [28, [1, 8]],
  [29, [256, 56]],
  [30, [1, 2]],
  [34, [256, 54]],
  [35, [256, 66]],
  [39, [32, 17]],
]);
/** Bytes of the scalar value types of GGUF metadata, by type number (8 = string and 9 = array have no fixed size). */
const SCALAR_BYTES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};
const TYPE_STRING = 8;
const TYPE_ARRAY = 9;
/** Source: GGUF specification, `general.alignment` where it is absent. */
const DEFAULT_ALIGNMENT = 32;
/** Bounds of a sane header; a larger count means that the bytes are not what they say. */
const MAX_ENTRIES = 10_000_000;

/** Reads a GGUF file's header and checks that the file is long enough for the tensors it lists. Errors: UserError PENSTOCK_MODEL_BROKEN. */
export async function checkGguf(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    const neededBytes = await readNeededBytes(path, new FileReader(handle, size)).catch((error: unknown) => {
      if (error instanceof UnexpectedEnd) throw broken(path, `it ends inside its header, at ${bytesText(size)}`);
      throw error;
    });
    if (neededBytes > size) {
      throw broken(path, `it is truncated: its header lists ${neededBytes} bytes, the file has ${size}`);
    }
  } finally {
    await handle.close();
  }
}

async function readNeededBytes(path: string, reader: FileReader): Promise<number> {
  if ((await reader.take(4)).toString("latin1") !== "GGUF") throw broken(path, "it does not start with 'GGUF'");
  const version = await reader.u32();
  if (version !== 2 && version !== 3) throw broken(path, `its format version is ${version}; 2 and 3 can be read`);
  const tensorCount = await reader.u64();
  const valueCount = await reader.u64();
  if (tensorCount > MAX_ENTRIES || valueCount > MAX_ENTRIES) throw broken(path, "its header makes no sense");
  let alignment = DEFAULT_ALIGNMENT;
  for (let index = 0; index < valueCount; index++) {
    const key = (await reader.take(await reader.u64())).toString("utf8");
    const type = await reader.u32();
    if (key === "general.alignment" && SCALAR_BYTES[type] === 4) alignment = await reader.u32();
    else await skipValue(path, reader, type);
  }
  let dataBytes = 0;
  for (let index = 0; index < tensorCount; index++) dataBytes = Math.max(dataBytes, await readTensorEnd(reader));
  return Math.ceil(reader.position / alignment) * alignment + dataBytes;
}

/** Where the tensor's data ends, counted from the start of all tensors' data. */
async function readTensorEnd(reader: FileReader): Promise<number> {
  await reader.skip(await reader.u64());
  const dimensions = await reader.u32();
  let elements = 1;
  for (let index = 0; index < dimensions; index++) elements *= await reader.u64();
  const block = BLOCK_OF_TYPE.get(await reader.u32());
  const offset = await reader.u64();
  // A type newer than the table: its start is all that can be checked.
  return block === undefined ? offset : offset + Math.ceil(elements / block[0]) * block[1];
}

async function skipValue(path: string, reader: FileReader, type: number): Promise<void> {
  if (type === TYPE_STRING) return reader.skip(await reader.u64());
  if (type !== TYPE_ARRAY) return reader.skip(scalarBytes(path, type));
  const itemType = await reader.u32();
  const count = await reader.u64();
  if (itemType !== TYPE_STRING && itemType !== TYPE_ARRAY) return reader.skip(scalarBytes(path, itemType) * count);
  if (count > MAX_ENTRIES) throw broken(path, "its header makes no sense");
  for (let index = 0; index < count; index++) await skipValue(path, reader, itemType);
}

function scalarBytes(path: string, type: number): number {
  const bytes = SCALAR_BYTES[type];
  if (bytes === undefined) throw broken(path, `its header has a value of the unknown type ${type}`);
  return bytes;
}

function broken(path: string, what: string): UserError {
  return new UserError(
    "PENSTOCK_MODEL_BROKEN",
    `${path} is not a whole GGUF file: ${what}`,
    "Fetch or copy the file again, then deploy once more.",
  );
}
