import { expect, test } from "vitest";
import { keyOf, pathOf } from "./objects.ts";

const PODS = { group: "", version: "v1", plural: "pods" };
const DEPLOYMENTS = { group: "apps", version: "v1", plural: "deployments" };

test.each([
  ["all of the core group", pathOf(PODS, null), "/api/v1/pods"],
  ["one namespace's", pathOf(PODS, "a"), "/api/v1/namespaces/a/pods"],
  ["one by name, of a group", pathOf(DEPLOYMENTS, "a", "b"), "/apis/apps/v1/namespaces/a/deployments/b"],
  [
    "one without a namespace",
    pathOf({ group: "g.dev", version: "v2", plural: "pools" }, null, "p"),
    "/apis/g.dev/v2/pools/p",
  ],
  ["a name that is no path", pathOf(PODS, "a/b", "../c"), "/api/v1/namespaces/a%2Fb/pods/..%2Fc"],
])("the path of %s", (_what, path, expected) => {
  expect(path).toBe(expected);
});

test("objects of the same name in two namespaces, or in none, have different keys", () => {
  expect([{ name: "x", namespace: "a" }, { name: "x", namespace: "b" }, { name: "x" }].map(keyOf)).toEqual([
    "a/x",
    "b/x",
    "x",
  ]);
});
