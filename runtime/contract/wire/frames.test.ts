import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, FrameDecoder, FrameError } from "./frames.ts";
import type { WireMessage } from "./messages.ts";

const messages = fc.array(
  fc.record({ kind: fc.constant("gone" as const), replica: fc.string({ unit: "binary", maxLength: 60 }) }),
  { maxLength: 8 },
);

test("messages come out as they went in, whatever pieces their bytes come in", () => {
  fc.assert(
    fc.property(messages, fc.array(fc.nat(400), { maxLength: 40 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(encodeFrame));
      const edges = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
      const decoder = new FrameDecoder();
      const got = edges.slice(1).flatMap((end, index) => decoder.push(bytes.subarray(edges[index], end)));
      expect(got).toEqual(sent);
    }),
  );
});

test("the pieces of one large frame are joined once, not again with each piece", () => {
  const line = "x".repeat(1024 * 1024);
  const large: WireMessage = { kind: "logLines", source: "a", lines: Array.from({ length: 24 }, () => line) };
  const bytes = encodeFrame(large);
  const decoder = new FrameDecoder();
  const concat = Buffer.concat;
  let copiedBytes = 0;
  Buffer.concat = ((list: readonly Uint8Array[], length?: number) => {
    const joined = concat(list, length);
    copiedBytes += joined.length;
    return joined;
  }) as typeof Buffer.concat;
  try {
    const got: WireMessage[] = [];
    for (let at = 0; at < bytes.length; at += 65_536) got.push(...decoder.push(bytes.subarray(at, at + 65_536)));
    expect(got).toEqual([large]);
  } finally {
    Buffer.concat = concat;
  }
  // A copy with each of the 385 pieces would be 193 times the frame.
  expect(copiedBytes).toBe(bytes.length);
});

test("a frame of another version, over the bound, or that is no message is refused", () => {
  const good = encodeFrame({ kind: "gone", replica: "a-1" });
  const refused = (change: (frame: Buffer) => void): unknown => {
    const frame = Buffer.from(good);
    change(frame);
    return () => new FrameDecoder().push(frame);
  };
  expect(refused((frame) => frame.writeUInt8(9, 4))).toThrow(FrameError);
  expect(refused((frame) => frame.writeUInt32BE(0x7fffffff, 0))).toThrow(/is over/);
  expect(refused((frame) => frame.fill("x", 5))).toThrow(/not JSON/);
  expect(refused((frame) => frame.fill(" ", 5).write("[]", 5))).toThrow(/no kind/);
});
