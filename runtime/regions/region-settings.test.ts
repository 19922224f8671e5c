import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { UserError } from "../core/errors.ts";
import { parseRegionFile, readRegionFile } from "./region-settings.ts";

const errorOf = (work: () => unknown): UserError => {
  try {
    work();
  } catch (error) {
    return error as UserError;
  }
  throw new Error("no error");
};

test("an empty file is a region with every default", () => {
  expect(parseRegionFile("", "r.yaml")).toMatchObject({
    region: "local",
    host: "127.0.0.1",
    port: 8080,
    endpoints: [],
  });
});

test("five mistakes are told at once, each with its path", () => {
  const text = `
region: Local!
port: 99999
colour: blue
endpoints:
  - name: Iris
    model: ./iris.onnx
  - name: ok
    model: ./ok.onnx
    concurrency: { min: 9, max: 3 }
`;
  const error = errorOf(() => parseRegionFile(text, "r.yaml"));
  expect(error.code).toBe("PENSTOCK_REGION_FILE_INVALID");
  expect(error.message).toContain("r.yaml has 5 mistakes");
  for (const part of [
    "- region: ",
    "- port: ",
    '"colour"',
    "- endpoints.0.name: ",
    "- endpoints.1.concurrency.min: ",
  ]) {
    expect(error.message).toContain(part);
  }
});

test("a mistake of YAML itself is told with its line", () => {
  expect(errorOf(() => parseRegionFile("port: [1", "r.yaml")).message).toContain("line 1");
});

test("a file that is not there is said so", () => {
  expect(errorOf(() => readRegionFile("/nonexistent/r.yaml")).code).toBe("PENSTOCK_REGION_FILE_UNREADABLE");
});

test("model paths are relative to the file's folder; URLs and package references stay", () => {
  const folder = mkdtempSync(join(tmpdir(), "penstock-region-"));
  const file = join(folder, "r.yaml");
  const models = ["./a.onnx", "/abs/b.gguf", "https://host/c.onnx", "pypi:p==1#m/d.gguf"];
  writeFileSync(file, JSON.stringify({ endpoints: models.map((model, index) => ({ name: `m${index}`, model })) }));
  const read = readRegionFile(file).endpoints.map((endpoint) => endpoint.model);
  expect(read).toEqual([join(folder, "a.onnx"), ...models.slice(1)]);
  rmSync(folder, { recursive: true });
});
