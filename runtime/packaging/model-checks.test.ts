import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkGguf } from "./gguf-check.ts";
import { checkOnnx } from "./onnx-check.ts";

const IRIS = join(import.meta.dirname, "../../examples/iris/iris.onnx");
let file: string;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-checks-"));
  file = join(folder, "model");
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function problemOf(check: (path: string) => Promise<void>, bytes: Uint8Array): Promise<string | null> {
  writeFileSync(file, bytes);
  try {
    await check(file);
    return null;
  } catch (error) {
    expect(error).toMatchObject({ code: "PENSTOCK_MODEL_BROKEN" });
    return (error as Error).message;
  }
}

const text = (value: string): Buffer => Buffer.concat([u64(value.length), Buffer.from(value)]);

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** A GGUF with metadata of each shape and two tensors: 64 floats of 4 bytes, then 32 elements as one Q4_1 block of 20. */
function smallGguf(): Buffer {
  const metadata = [
    [text("general.name"), u32(8), text("small")],
    [text("general.alignment"), u32(4), u32(64)],
    [text("tokens"), u32(9), u32(8), u64(2), text("a"), text("bc")],
    [text("scores"), u32(9), u32(6), u64(3), Buffer.alloc(12)],
  ].flat();
  const tensors = [
    [text("a"), u32(2), u64(8), u64(8), u32(0), u64(0)],
    [text("b"), u32(1), u64(32), u32(3), u64(256)],
  ].flat();
  const head = Buffer.concat([Buffer.from("GGUF"), u32(3), u64(2), u64(4), ...metadata, ...tensors]);
  const padding = Buffer.alloc((64 - (head.length % 64)) % 64);
  return Buffer.concat([head, padding, Buffer.alloc(64 * 4 + 20)]);
}

describe("GGUF", () => {
  test("a whole file passes", async () => {
    expect(await problemOf(checkGguf, smallGguf())).toBeNull();
  });

  test("one byte less is said with both numbers", async () => {
    const whole = smallGguf();
    const problem = await problemOf(checkGguf, whole.subarray(0, -1));
    expect(problem).toContain(`its header lists ${whole.length} bytes, the file has ${whole.length - 1}`);
  });

  test("cut anywhere it is broken, never whole and never a crash", async () => {
    const whole = smallGguf();
    for (let length = 0; length < whole.length; length++) {
      expect(await problemOf(checkGguf, whole.subarray(0, length)), `cut at ${length}`).not.toBeNull();
    }
  });

  test("other bytes are refused by their first four, an unknown version by its number", async () => {
    expect(await problemOf(checkGguf, Buffer.from("PK\u0003\u0004 and more"))).toContain("does not start with 'GGUF'");
    expect(await problemOf(checkGguf, Buffer.concat([Buffer.from("GGUF"), u32(9), u64(0), u64(0)]))).toContain(
      "version is 9",
    );
  });

  test("a header of nonsense counts ends at once", async () => {
    const huge = Buffer.concat([Buffer.from("GGUF"), u32(3), u64(2 ** 50), u64(0)]);
    expect(await problemOf(checkGguf, huge)).toContain("makes no sense");
  });
});

describe("ONNX", () => {
  const iris = readFileSync(IRIS);

  test("a whole file passes", async () => {
    expect(await problemOf(checkOnnx, iris)).toBeNull();
  });

  test("cut inside its graph it is truncated", async () => {
    expect(await problemOf(checkOnnx, iris.subarray(0, 300))).toContain("truncated at 300 bytes");
  });

  test("an empty file and other bytes have no graph", async () => {
    expect(await problemOf(checkOnnx, Buffer.alloc(0))).toContain("no graph");
    expect(await problemOf(checkOnnx, Buffer.from("<html>not found</html>"))).not.toBeNull();
  });

  test("random bytes are an error for people and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (bytes) => {
        // Few bytes may by chance be a message with fields 1 and 7; problemOf throws on anything but an error for people.
        const problem = await problemOf(checkOnnx, bytes);
        expect(problem ?? "passes").not.toBe("");
      }),
      { numRuns: 200 },
    );
  });
});
