import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ENDPOINT_NAME_PATTERN } from "../runtime/domain/names.ts";
import { inputsFromFile, modelReference, nameFrom } from "./deploy-input.ts";

test.each([
  ["/models/Iris_v2.onnx", "iris-v2"],
  ["/models/my model/", "my-model"],
  ["https://host/a/SmolLM2.Q4.gguf?x=1", "smollm2-q4"],
  ["pypi:llm==1.2#dir/Model.gguf", "llm-1-2"],
  ["/models/123", "model"],
])("%s becomes the endpoint %s", (path, name) => {
  expect(nameFrom(path)).toBe(name);
});

test("any path gives a name that is allowed", () => {
  fc.assert(fc.property(fc.string(), (path) => ENDPOINT_NAME_PATTERN.test(nameFrom(path))));
});

test("URLs and package references stay as they are", () => {
  expect(modelReference("pypi:a==1#b", "/")).toBe("pypi:a==1#b");
  expect(modelReference("https://x/y", "/")).toBe("https://x/y");
});

describe("a file", () => {
  const parse = (text: string): unknown => {
    const folder = mkdtempSync(join(tmpdir(), "penstock-deploy-"));
    try {
      writeFileSync(join(folder, "file.yaml"), text);
      return inputsFromFile(join(folder, "file.yaml"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const resource = (change: object): string =>
    JSON.stringify({
      apiVersion: "penstock.dev/v1alpha1",
      kind: "ModelEndpoint",
      metadata: { name: "iris", namespace: "models", labels: { team: "a" } },
      spec: { model: "https://x/iris.onnx", concurrency: { min: 1 } },
      ...change,
    });

  test("describes the same endpoint as a mapping and as a resource", () => {
    const plain = "name: iris\nmodel: https://x/iris.onnx\nconcurrency: {min: 1}";
    expect(parse(resource({}))).toEqual(parse(plain));
    expect(parse(`${plain}\n---\n${resource({})}`)).toHaveLength(2);
  });

  test("that is nested without end is refused in words", () => {
    expect(() => parse(`name: iris\nrun: ${"[".repeat(20_000)}${"]".repeat(20_000)}`)).toThrow("nested too deep");
  });

  test.each([
    ["another kind", { kind: "Deployment" }, "kind: Deployment"],
    ["another version", { apiVersion: "penstock.dev/v9" }, "penstock.dev/v9"],
    ["no spec", { spec: undefined }, "no whole ModelEndpoint"],
    ["no name", { metadata: {} }, "has no name"],
    ["a name in the spec too", { spec: { name: "other", model: "https://x/y" } }, "name in its spec"],
  ])("a resource with %s is refused in words", (_, change, words) => {
    expect(() => parse(resource(change))).toThrow(words);
  });
});
