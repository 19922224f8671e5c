import { expect, test } from "vitest";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import { capacityOf, filterEndpoints, totalsOf, worstFirst } from "./select.ts";

function endpoint(name: string, word: string, runtime: string, fields: object = {}): EndpointView {
  return {
    name,
    status: { word, reason: "", todo: null },
    spec: { runtime: "auto" },
    versions: [{ runtime }],
    load: { qps: 2, inFlight: 1 },
    scale: { wanted: 2, granted: 2, ready: 1, existing: 1 },
    ...fields,
  } as unknown as EndpointView;
}

const all = [
  endpoint("iris", "ready", "onnx"),
  endpoint("chat", "degraded", "gguf"),
  endpoint("new", "preparing", "gguf", { versions: [] }),
];

test("every word of the filter must be found in name, status or runtime", () => {
  const names = (text: string) => filterEndpoints(all, text).map(({ name }) => name);
  expect(names("")).toEqual(["iris", "chat", "new"]);
  expect(names("GGUF")).toEqual(["chat"]);
  expect(names("degraded ch")).toEqual(["chat"]);
  expect(names("auto")).toEqual(["new"]);
  expect(names("iris gguf")).toEqual([]);
});

test("what ready replicas should carry is unknown until a target is", () => {
  const version = (targetConcurrency: number | null, ready: number) => ({
    targetConcurrency,
    scale: { wanted: null, granted: null, ready, existing: ready },
  });
  expect(capacityOf([version(4, 2), version(null, 1), version(1.5, 2)])).toBe(11);
  expect(capacityOf([version(null, 1)])).toBeNull();
});

test("the totals count failed and degraded endpoints as not well", () => {
  expect(totalsOf(all)).toEqual({ endpoints: 3, unwell: 1, qps: 6, inFlight: 3, ready: 3, wanted: 6 });
});

test("what failed stands first, then what is degraded, the others in their order", () => {
  const some = [endpoint("a", "ready", "onnx"), ...all, endpoint("z", "failed", "onnx")];
  expect(worstFirst(some).map(({ name }) => name)).toEqual(["z", "chat", "a", "iris", "new"]);
});
