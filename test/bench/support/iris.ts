import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { templateRequest } from "../../../cli/load/bodies.ts";
import type { LoadPlan } from "../../../cli/load/generator.ts";
import type { Segment } from "../../../cli/load/profile.ts";
import type { TestRegion } from "../../e2e/region.ts";

/** The example's ONNX classifier. */
export const IRIS_MODEL = join(import.meta.dirname, "../../../examples/iris/iris.onnx");

/** A plan of open-loop load on an endpoint that serves the iris model. Arrivals are random, as independent clients make them. */
export function irisPlan(region: TestRegion, profile: readonly Segment[], endpoint = "iris"): LoadPlan {
  const { hostname, port } = new URL(region.url);
  const { path, body } = templateRequest("iris", endpoint, { stream: false, maxTokens: 0 });
  return {
    host: hostname,
    port: Number(port),
    path,
    headers: {},
    body,
    profile,
    arrivals: "poisson",
    seed: 1,
    maxConnections: 4_096,
    timeoutMs: 60_000,
    streamed: false,
  };
}

/** Writes the iris model with other content that changes no answer: a text of the model's own `doc_string` (field 6 of ModelProto). */
export function writeChangedIris(path: string, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  const DOC_STRING_TAG = 0x32;
  writeFileSync(path, Buffer.concat([readFileSync(IRIS_MODEL), Buffer.from([DOC_STRING_TAG, bytes.length]), bytes]));
}
