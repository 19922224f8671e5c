import { expect, test } from "vitest";
import { computeContextTokens, computeSequences } from "./plan.ts";

const MIB = 1024 ** 2;
const SMALL = { cpuCount: 1, memoryBytes: null, modelBytes: 100 * MIB, bytesPerSequence: 90 * MIB };

test("sequences follow the cores, and the memory allotment where it is tighter", () => {
  expect(computeSequences(SMALL)).toBe(4);
  expect(computeSequences({ ...SMALL, cpuCount: 2 })).toBe(8);
  // 400 MiB less a fifth is 320, less the model's 100 leaves 220: two sequences of 90.
  expect(computeSequences({ ...SMALL, memoryBytes: 400 * MIB })).toBe(2);
  expect(computeSequences({ ...SMALL, memoryBytes: 1 })).toBe(1);
});

test("the context is the user's, or 2,048 tokens, and never more than the model was trained for", () => {
  expect(computeContextTokens(null, 8192)).toBe(2048);
  expect(computeContextTokens(4096, 8192)).toBe(4096);
  expect(computeContextTokens(null, 512)).toBe(512);
});
