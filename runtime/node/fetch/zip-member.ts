import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";
import { UserError } from "../../core/errors.ts";
import { systemCode } from "../../packaging/errors.ts";

/** Fixed parts of the records of a ZIP file. Source: PKWARE APPNOTE 4.3. */
const END_BYTES = 22;
const END_SIGNATURE = 0x06054b50;
const MAX_COMMENT_BYTES = 65_535;
const ENTRY_BYTES = 46;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_BYTES = 30;
const STORED = 0;
const DEFLATED = 8;
/** A size or offset of this value stands in a ZIP64 record, which wheels under 4 GiB do not have. */
const IN_ZIP64 = 0xffffffff;

interface Member {
  readonly method: number;
  readonly storedBytes: number;
  readonly sizeBytes: number;
  readonly localAt: number;
}

/** Writes one member of the ZIP file at `zip` to `target`, as a stream. Returns its size. Errors: UserError where there is none of that name. */
export async function extractMember(zip: string, name: string, target: string, signal: AbortSignal): Promise<number> {
  const { member, dataAt } = await locate(zip, name);
  const end = dataAt + member.storedBytes - 1;
  const source =
    member.storedBytes === 0
      ? Readable.from([])
      : createReadStream(zip, { start: dataAt, end, highWaterMark: 1 << 20 });
  const sink = createWriteStream(target);
  try {
    if (member.method === STORED) await pipeline(source, sink, { signal });
    else await pipeline(source, createInflateRaw(), atMost(member.sizeBytes, zip, name), sink, { signal });
  } catch (error) {
    await rm(target, { force: true });
    throw systemCode(error).startsWith("Z_") ? damaged(zip, `${name} can't be unpacked`) : error;
  }
  if (sink.bytesWritten !== member.sizeBytes) throw damaged(zip, `${name} is cut short`);
  return member.sizeBytes;
}

/** Passes on what is unpacked, up to the size that the directory told: a few KiB can unpack to more than any disk holds. */
function atMost(
  sizeBytes: number,
  zip: string,
  name: string,
): (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer> {
  return async function* (source) {
    let passedBytes = 0;
    for await (const piece of source) {
      passedBytes += piece.length;
      if (passedBytes > sizeBytes) throw damaged(zip, `${name} is larger than it says`);
      yield piece;
    }
  };
}

async function locate(zip: string, name: string): Promise<{ member: Member; dataAt: number }> {
  const handle = await open(zip, "r");
  try {
    const { size } = await handle.stat();
    const readAt = async (at: number, length: number): Promise<Buffer> => {
      if (at + length > size) throw damaged(zip, "it is cut short");
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await handle.read(bytes, 0, length, at);
      if (bytesRead < length) throw damaged(zip, "it is cut short");
      return bytes;
    };
    const tailBytes = Math.min(size, END_BYTES + MAX_COMMENT_BYTES);
    const tail = await readAt(size - tailBytes, tailBytes);
    const endAt = findEnd(tail);
    if (endAt < 0) throw damaged(zip, "it has no directory");
    const directory = await readAt(tail.readUInt32LE(endAt + 16), tail.readUInt32LE(endAt + 12));
    const members = readDirectory(zip, directory);
    const member = members.get(name);
    if (member === undefined) throw noMember(zip, name, [...members.keys()]);
    const local = await readAt(member.localAt, LOCAL_BYTES);
    return { member, dataAt: member.localAt + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28) };
  } finally {
    await handle.close();
  }
}

function findEnd(tail: Buffer): number {
  for (let at = tail.length - END_BYTES; at >= 0; at--) if (tail.readUInt32LE(at) === END_SIGNATURE) return at;
  return -1;
}

function readDirectory(zip: string, directory: Buffer): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>();
  for (let at = 0; at + ENTRY_BYTES <= directory.length; ) {
    if (directory.readUInt32LE(at) !== ENTRY_SIGNATURE) throw damaged(zip, "its directory is damaged");
    const nameBytes = directory.readUInt16LE(at + 28);
    const member = {
      method: directory.readUInt16LE(at + 10),
      storedBytes: directory.readUInt32LE(at + 20),
      sizeBytes: directory.readUInt32LE(at + 24),
      localAt: directory.readUInt32LE(at + 42),
    };
    const readable = member.method === STORED || member.method === DEFLATED;
    if (readable && member.sizeBytes !== IN_ZIP64 && member.localAt !== IN_ZIP64) {
      members.set(directory.toString("utf8", at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes), member);
    }
    at += ENTRY_BYTES + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return members;
}

function noMember(zip: string, name: string, names: readonly string[]): UserError {
  const SHOWN = 8;
  return new UserError(
    "PENSTOCK_MODEL_REFERENCE",
    `${zip} holds no '${name}'; it holds ${names.slice(0, SHOWN).join(", ")}${names.length > SHOWN ? ", ..." : ""}`,
    "Correct the part after '#' in `model`.",
  );
}

function damaged(zip: string, what: string): UserError {
  // Its hash was that of the index: fetching it again gives the same bytes.
  const todo = "Name another version of the package, or the file by path or URL.";
  return new UserError("PENSTOCK_MODEL_BROKEN", `${zip} is damaged: ${what}`, todo);
}
