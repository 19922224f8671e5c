import { expect, test } from "vitest";
import { endpointInput } from "../../contract/spec/endpoint.ts";
import { specOf } from "./spec-of.ts";

const input = (fields: object) => endpointInput.parse({ name: "iris", model: "/models/iris.onnx", ...fields });

test("a first spec has generation 1 and every default", () => {
  const spec = specOf(input({}), null, "api");
  expect(spec).toMatchObject({ generation: 1, origin: "api", runtime: "auto", concurrency: { min: 0, max: 64 } });
});

test("an input that changes nothing gives the previous spec itself, so that reading a region file again is no change", () => {
  const first = specOf(input({}), null, "file");
  expect(specOf(input({}), first, "file")).toBe(first);
});

test("a changed field or origin raises the generation by one", () => {
  const first = specOf(input({}), null, "api");
  expect(specOf(input({ concurrency: { min: 1 } }), first, "api").generation).toBe(2);
  expect(specOf(input({}), first, "file").generation).toBe(2);
});

test.each([
  ["a model runtime", {}, true],
  ["a custom runtime", { runtime: "custom" }, false],
  ["a command", { run: { command: ["./serve"] } }, false],
  ["a base URL", { run: { url: "http://127.0.0.1:9000" } }, false],
  ["a custom runtime that says it is", { runtime: "custom", idempotent: true }, true],
])("%s is idempotent by default: %o -> %s", (_what, fields, idempotent) => {
  expect(specOf(input(fields), null, "api").idempotent).toBe(idempotent);
});
