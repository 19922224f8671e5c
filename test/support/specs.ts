import { sha256Hex } from "../../runtime/core/canonical.ts";
import { asWallMs } from "../../runtime/core/time.ts";
import { type EndpointSpec, modelKeyOf } from "../../runtime/domain/endpoint.ts";
import type { Prepared } from "../../runtime/domain/rollout.ts";
import { type RunSettings, type Version, versionIdFrom } from "../../runtime/domain/version.ts";
import { PLAIN_RUN } from "../../runtime/serving/custom/fixtures.ts";

const RUN: RunSettings = { ...PLAIN_RUN, memoryBytes: 2 ** 30 };

/** A whole endpoint spec for tests; `change` says what matters to the test. */
export function specOf(name: string, change: Partial<EndpointSpec> = {}): EndpointSpec {
  return {
    name,
    origin: "api",
    generation: 1,
    deployNumber: 1,
    model: "./v1",
    runtime: "onnx",
    modelSha256: null,
    run: RUN,
    concurrency: { min: 0, max: 64 },
    traffic: { kind: "latest", canaryPercent: 100 },
    idempotent: true,
    timeouts: { connectMs: 1_000, firstByteMs: 30_000, stallMs: 15_000, requestMs: 60_000 },
    queue: { maxRequests: 1_000, maxBytes: 2 ** 20, maxWaitMs: 60_000 },
    maxBodyBytes: 2 ** 20,
    sleepAfterMs: 120_000,
    keepVersions: 3,
    logLevel: "info",
    traceSampleRatio: 0,
    ...change,
  };
}

/** The version that a spec's model comes to in tests. */
export function versionOf(spec: EndpointSpec): Version {
  const digest = sha256Hex(spec.model);
  const made = { runtime: "onnx" as const, artifactDigest: digest, environmentHash: null, run: spec.run };
  return {
    id: versionIdFrom(spec.name, made),
    endpoint: spec.name,
    runtime: "onnx",
    artifact: { source: spec.model, digest, path: `/models/${digest}`, sizeBytes: 1_000_000 },
    environmentHash: null,
    run: spec.run,
    createdAtMs: asWallMs(0),
  };
}

/** The prepared fact of a spec whose version is ready. */
export function preparedOf(spec: EndpointSpec): Prepared {
  return {
    endpoint: spec.name,
    modelKey: modelKeyOf(spec),
    deployNumber: spec.deployNumber,
    state: { kind: "ready", version: versionOf(spec) },
  };
}
