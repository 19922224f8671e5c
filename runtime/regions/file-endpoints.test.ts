import { expect, test } from "vitest";
import { type EndpointInput, endpointInput } from "../contract/spec/endpoint.ts";
import type { EndpointSpec } from "../domain/endpoint.ts";
import { specOf } from "../operate/api/spec-of.ts";
import { mergeKeys, planFileEndpoints } from "./file-endpoints.ts";

const input = (name: string, model = "./m.onnx"): EndpointInput => endpointInput.parse({ name, model });
const ofFile = (name: string): EndpointSpec => specOf(input(name), null, "file");
const ofApi = (name: string): EndpointSpec => specOf(input(name), null, "api");
const names = (specs: readonly EndpointSpec[]): string[] => specs.map((spec) => spec.name);

test("what the file lists is applied, what it lists no more is removed, what the API made stays", () => {
  const { apply, remove } = planFileEndpoints(
    [ofFile("same"), ofFile("gone"), ofApi("own")],
    [input("same"), input("new")],
  );
  expect(names(apply)).toEqual(["new"]);
  expect(apply[0]).toMatchObject({ origin: "file", generation: 1 });
  expect(remove).toEqual(["gone"]);
});

test("a change in the file is one generation more", () => {
  const { apply } = planFileEndpoints([ofFile("m")], [input("m", "./other.onnx")]);
  expect(apply).toMatchObject([{ name: "m", model: "./other.onnx", generation: 2 }]);
});

test("an endpoint of the API that the file lists becomes the file's", () => {
  expect(planFileEndpoints([ofApi("m")], [input("m")]).apply).toMatchObject([{ name: "m", origin: "file" }]);
});

test("planning again from what was applied changes nothing", () => {
  const { apply } = planFileEndpoints([], [input("a"), input("b")]);
  expect(planFileEndpoints(apply, [input("a"), input("b")])).toEqual({ apply: [], remove: [] });
});

test("a key that stands in the file and elsewhere is the file's", () => {
  const key = (hash: string, name: string) => ({ hash, name, endpoints: null, admin: false });
  expect(mergeKeys([key("1", "file")], [key("1", "old"), key("2", "api")]).map(({ name }) => name)).toEqual([
    "file",
    "api",
  ]);
});
