import fc from "fast-check";
import { expect, test } from "vitest";
import { ENDPOINT_NAME_PATTERN } from "../runtime/domain/names.ts";
import { modelReference, nameFrom } from "./deploy-input.ts";

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
