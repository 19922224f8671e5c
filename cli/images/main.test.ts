import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

function images(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

test("--help says what may be built and where it goes", async () => {
  const { code, out } = await images("--help");
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^usage: npm run images[\s\S]*core, onnx, gguf[\s\S]*--out DIR/),
  ]);
});

test("an unknown flag, a flag without its value and an unknown image end with 2 and what is allowed, without a stack", async () => {
  for (const [args, told] of [
    [["--frob"], /^error: Unknown option '--frob'\nusage: /],
    [["--out"], /^error: Option '--out <value>' argument missing\nusage: /],
    [["core", "nope"], /^error: there is no image named nope\ntodo: give some of core/],
  ] as const) {
    const { code, err } = await images(...args);
    expect([code, err]).toEqual([2, expect.stringMatching(told)]);
    expect(err).not.toMatch(/\n\s+at /);
  }
});

test("a folder that can't be made ends with 1 and what to do, at once and without a stack", async () => {
  const { code, err } = await images("--out", join(PROGRAM, "below-a-file"), "core");
  expect([code, err]).toEqual([1, expect.stringMatching(/^error: .*\ntodo: give a folder/)]);
  expect(err).not.toMatch(/\n\s+at /);
});
