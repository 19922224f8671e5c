import { endpointInput } from "../../contract/spec/endpoint.ts";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { RouterLoad, VersionLoad } from "../../domain/load.ts";
import { LATENCY_EDGES_MS } from "../../domain/load.ts";
import type { HostedReplica, ReplicaReport } from "../../domain/replica.ts";
import type { RolledVersion, Rollout } from "../../domain/rollout.ts";
import type { Version } from "../../domain/version.ts";
import { specOf } from "../api/spec-of.ts";

/** Builders of facts for tests: sound defaults, the named fields replaced. */
export function aSpec(fields: object = {}): EndpointSpec {
  return specOf(endpointInput.parse({ name: "iris", model: "/models/iris.onnx", ...fields }), null, "api");
}

/** A version of `iris`; `letter` makes its id. */
export function aVersion(letter = "a", endpoint = "iris"): Version {
  return {
    id: `${endpoint}-${letter.repeat(10)}`,
    endpoint,
    runtime: "onnx",
    artifact: {
      source: "/models/iris.onnx",
      digest: letter.repeat(64),
      path: "/data/artifacts/iris.onnx",
      sizeBytes: 670,
    },
    environmentHash: null,
    run: aSpec().run,
    createdAtMs: asWallMs(letter.charCodeAt(0) * 1_000),
  };
}

/** A version's row in a rollout. */
export function aRolledVersion(fields: Partial<RolledVersion> = {}): RolledVersion {
  return {
    version: aVersion(),
    phase: "serving",
    weight: 100,
    sizedForWeight: 100,
    sinceMs: asMonoMs(0),
    giveUpAtMs: null,
    failure: null,
    ...fields,
  };
}

/** A rollout of the given rows. */
export function aRollout(versions: readonly RolledVersion[] = [aRolledVersion()], endpoint = "iris"): Rollout {
  return { endpoint, versions, updatedAtMs: asWallMs(0) };
}

/** A keeper's report. */
export function aReport(fields: Partial<ReplicaReport> = {}): ReplicaReport {
  return {
    id: `${aVersion().id}-0`,
    version: aVersion().id,
    epoch: 1,
    phase: "ready",
    address: { host: "127.0.0.1", port: 9 },
    startedAtMs: asWallMs(0),
    startupMs: 300,
    warmupServiceMs: 1,
    probedConcurrency: null,
    progressTotal: 0,
    inFlight: 0,
    resources: {
      cpuMsTotal: 0,
      throttledMsTotal: 0,
      residentBytes: 50_000_000,
      memoryLimitBytes: null,
    },
    engine: {},
    ...fields,
  };
}

/** A process as the agent sees it. */
export function aHosted(fields: Partial<HostedReplica> = {}): HostedReplica {
  return {
    id: `${aVersion().id}-0`,
    version: aVersion().id,
    epoch: 1,
    state: "running",
    pid: 100,
    failedStarts: 0,
    lastExit: null,
    lastLog: [],
    ...fields,
  };
}

/** Counts of a version in a router: nothing yet, but for the named fields. */
export function aVersionLoad(fields: Partial<VersionLoad> = {}): VersionLoad {
  const empty = new Array<number>(LATENCY_EDGES_MS.length + 1).fill(0);
  return {
    version: aVersion().id,
    endpoint: "iris",
    arrivals: 0,
    completed: 0,
    failed: 0,
    turnedAwayForCapacity: 0,
    clientGone: 0,
    retries: 0,
    inFlight: 0,
    queued: 0,
    inFlightMsTotal: 0,
    queuedMsTotal: 0,
    serviceMsBuckets: empty,
    firstByteMsBuckets: empty,
    serviceMsTotal: 0,
    firstByteMsTotal: 0,
    ...fields,
  };
}

/** A router's report number `seq`, sent and received at `seq` seconds. */
export function aRouterLoad(
  seq: number,
  versions: readonly VersionLoad[],
  fields: Partial<RouterLoad> = {},
): RouterLoad {
  return {
    router: "router-0",
    epoch: 1,
    seq,
    routerMonoMs: seq * 1_000,
    receivedAtMs: asMonoMs(seq * 1_000),
    snapshotGeneration: { incarnation: 1, number: 1 },
    memoryBytes: 120 * 1024 * 1024,
    versions,
    replicas: [],
    ...fields,
  };
}

/** Bucket counts with `count` readings in the bucket that holds `ms`. */
export function bucketsWith(readings: readonly { readonly ms: number; readonly count: number }[]): number[] {
  const buckets = new Array<number>(LATENCY_EDGES_MS.length + 1).fill(0);
  for (const { ms, count } of readings) {
    const index = LATENCY_EDGES_MS.findIndex((edge) => ms <= edge);
    const slot = index < 0 ? LATENCY_EDGES_MS.length : index;
    buckets[slot] = (buckets[slot] ?? 0) + count;
  }
  return buckets;
}
