import { expect, test } from "vitest";
import { routeOf } from "./route.ts";

const call = (door: string, named: string, endpoint: string | null, path: string, method: string | null) => ({
  kind: "call",
  door,
  named,
  endpoint,
  path,
  method,
});

test.each([
  ["/v1/chat/completions", call("openai", "body", null, "/v1/chat/completions", "POST")],
  ["/v1/embeddings?x=1", call("openai", "body", null, "/v1/embeddings?x=1", "POST")],
  ["/serving-endpoints/iris/invocations", call("mlflow", "path", "iris", "/invocations", "POST")],
  ["/invocations", call("mlflow", "header", null, "/invocations", "POST")],
  ["/v2/models/iris/infer", call("kserve", "path", "iris", "/v2/models/iris/infer", "POST")],
  ["/v2/models/iris/versions/3/infer", call("kserve", "path", "iris", "/v2/models/iris/versions/3/infer", "POST")],
  ["/v2/models/iris", call("kserve", "path", "iris", "/v2/models/iris", "GET")],
  ["/v2/models/iris/config", call("kserve", "path", "iris", "/v2/models/iris/config", "GET")],
  ["/endpoints/agent/chat/1?q=2", call("raw", "path", "agent", "/chat/1?q=2", null)],
  ["/endpoints/agent/", call("raw", "path", "agent", "/", null)],
  ["/endpoints/iris/invocations", call("mlflow", "path", "iris", "/invocations", "POST")],
])("%s calls an endpoint", (target, expected) => {
  expect(routeOf(target)).toEqual(expected);
});

test.each([
  ["/v1/models", "openai-models", null],
  ["/v1/models/iris", "openai-models", "iris"],
  ["/v2/health/live", "server-live", null],
  ["/v2/health/ready", "server-ready", null],
  ["/v2", "server-metadata", null],
  ["/v2/models/iris/ready", "model-ready", "iris"],
  ["/v2/models/iris/versions/1/ready", "model-ready", "iris"],
  ["/api/2.0/serving-endpoints", "serving-endpoints", null],
  ["/api/2.0/serving-endpoints/iris", "serving-endpoints", "iris"],
  ["/api/2.0/endpoints/?page_token=x", "deployment-endpoints", null],
  ["/api/2.0/endpoints/iris", "deployment-endpoints", "iris"],
])("%s asks about endpoints", (target, about, endpoint) => {
  expect(routeOf(target)).toMatchObject({ kind: "local", about, endpoint });
});

test.each([
  ["/healthz", "health"],
  ["/ping", "health"],
  ["/console", "region"],
  ["/console/app.js", "region"],
  ["/consoles", "unknown"],
  ["/metrics", "region"],
  ["/api/v1/endpoints", "region"],
  ["/openapi.json?x", "region"],
  ["/", "region"],
  ["/v1/files", "unknown"],
  ["/v2/nothing", "unknown"],
  ["/serving-endpoints/iris", "unknown"],
  ["/serving-endpoints//invocations", "unknown"],
  ["/endpoints/iris", "unknown"],
  ["/endpoints/iris?/x", "unknown"],
  ["/elsewhere", "unknown"],
])("%s is %s", (target, kind) => {
  expect(routeOf(target).kind).toBe(kind);
});

test.each([
  "/endpoints/a/../admin",
  "/endpoints/a/x/..",
  "/endpoints/a/%2e%2E/admin",
  "/endpoints/a/.?x",
  "/endpoints/a/.%2e/x",
])("%s leaves no base path by dot segments", (target) => {
  expect(routeOf(target).kind).toBe("unknown");
});
