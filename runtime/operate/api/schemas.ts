import { z } from "@hono/zod-openapi";
import { endpointInput } from "../../contract/spec/endpoint.ts";
import { settings } from "../../contract/spec/settings.ts";
import type { Plain } from "../../core/controller.ts";
import { SERIES_COLUMNS } from "../series/columns.ts";
import type { SeriesSlice } from "../series/series.ts";
import type { Check } from "../views/checks.ts";
import type { DecisionRow } from "../views/decision-view.ts";
import type { EndpointView } from "../views/endpoint-view.ts";
import type { ReplicaView } from "../views/replica-view.ts";
import type { ShadowRow } from "../views/shadow-view.ts";
import type { VersionView } from "../views/version-view.ts";
import { errorBody } from "./errors.ts";

/** The schema of what a view makes: T is the view's type, the schema its documentation; a test holds them together. */
function shows<T>(schema: z.ZodType): z.ZodType<T> {
  return schema as z.ZodType<T>;
}

const nullableNumber = z.number().nullable();

const load = z
  .strictObject({
    qps: z.number(),
    failedRps: z.number(),
    turnedAwayRps: z.number(),
    retriesRps: z.number(),
    p50Ms: nullableNumber,
    p99Ms: nullableNumber,
    firstByteP50Ms: nullableNumber,
    firstByteP99Ms: nullableNumber,
    inFlight: z.number(),
    queued: z.number(),
  })
  .describe("Rates over about the last 10 s, and the newest gauges")
  .openapi("Load");

const scale = z
  .strictObject({ wanted: nullableNumber, granted: nullableNumber, ready: z.number(), existing: z.number() })
  .openapi("Scale");

/** A replica: the keeper's, the agent's and the fleet's word in one row. */
const replicaView = shows<ReplicaView>(
  z
    .strictObject({
      id: z.string(),
      version: z.string(),
      word: z.enum([
        "starting",
        "warming",
        "ready",
        "draining",
        "stuck",
        "waiting",
        "crash-loop",
        "stopping",
        "wanted",
      ]),
      epoch: nullableNumber,
      pid: nullableNumber,
      address: z.string().nullable(),
      startedAtMs: nullableNumber,
      startupMs: nullableNumber,
      inFlight: nullableNumber,
      progressTotal: nullableNumber,
      cpuCores: nullableNumber,
      residentBytes: nullableNumber,
      failedStarts: z.number(),
      lastExit: z.object({ code: nullableNumber, signal: z.string().nullable(), atMs: z.number() }).nullable(),
      lastLog: z.array(z.string()).readonly(),
      engine: z.record(z.string(), z.number()),
    })
    .openapi("Replica"),
);

/** A version: where its rollout stands, its scale, its load. */
const versionView = shows<VersionView>(
  z
    .strictObject({
      id: z.string(),
      phase: z.enum(["staging", "serving", "draining", "kept", "failed"]),
      weight: z.number(),
      runtime: z.enum(["onnx", "gguf", "mlflow", "custom"]),
      source: z.string(),
      digest: z.string(),
      sizeBytes: z.number(),
      environmentHash: z.string().nullable(),
      run: z.looseObject({}),
      createdAtMs: z.number(),
      failure: z.object({ why: z.string(), lastLog: z.array(z.string()).readonly() }).nullable(),
      giveUpInMs: nullableNumber,
      targetConcurrency: nullableNumber,
      scale,
      load,
      coldStarts: z.number(),
    })
    .openapi("Version"),
);

/** An endpoint with its versions and replicas. */
export const endpointView = shows<EndpointView>(
  z
    .strictObject({
      name: z.string(),
      status: z.strictObject({
        word: z.enum([
          "failed",
          "degraded",
          "preparing",
          "starting",
          "rolling-out",
          "waking",
          "scaling",
          "asleep",
          "ready",
        ]),
        reason: z.string(),
        todo: z.string().nullable(),
      }),
      spec: endpointInput.safeExtend({
        origin: z.enum(["api", "file"]),
        generation: z.number(),
        deployNumber: z.number(),
        idempotent: z.boolean(),
      }),
      prepared: z.looseObject({ kind: z.enum(["working", "ready", "failed"]) }).nullable(),
      preparedDeployNumber: nullableNumber,
      doors: z.array(z.enum(["openai", "mlflow", "kserve", "raw"])).readonly(),
      versions: z.array(versionView).readonly(),
      replicas: z.array(replicaView).readonly(),
      scale,
      load,
      coldStarts: z.number(),
      updatedAtMs: nullableNumber,
    })
    .openapi("Endpoint"),
);

const decision = z
  .strictObject({
    id: z.number(),
    controller: z.string(),
    key: z.string().describe("The endpoint, version or `region` it is about"),
    atWallMs: z.number(),
    reason: z.string(),
    inputs: z.record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()])),
    output: z.unknown().describe("The controller's whole fact"),
    replayable: z.boolean(),
  })
  .openapi("Decision");

/** One decision of a controller. */
export const decisionRow = shows<DecisionRow>(decision);

/** One decision with all that is needed to make it again. */
export const recordedDecision = shows<DecisionRow & { atMonoMs: number; world: Plain; memory: Plain }>(
  decision.safeExtend({ atMonoMs: z.number(), world: z.unknown(), memory: z.unknown() }).openapi("RecordedDecision"),
);

/** A recorded decision beside what its controller makes of the same world today. */
export const replayComparison = shows<{ equal: boolean; recorded: Plain; replayed: Plain }>(
  z
    .strictObject({
      equal: z.boolean().describe("Reason, inputs and output came out the same, bit for bit"),
      recorded: z.unknown(),
      replayed: z.unknown(),
    })
    .openapi("Replay"),
);

/** A shadow law's decision beside the real one. */
export const shadowRow = shows<ShadowRow>(
  z.strictObject({ shadow: decision, real: decision.nullable(), differs: z.boolean() }).openapi("ShadowDecision"),
);

/** A piece of a series: columns as long as `atMs`. */
export const seriesSlice = shows<SeriesSlice>(
  z
    .strictObject({
      atMs: z.array(z.number()).readonly(),
      columns: z.object(
        Object.fromEntries(SERIES_COLUMNS.map((column) => [column, z.array(nullableNumber).readonly()])),
      ),
    })
    .openapi("Series"),
);

/** A key without its secret. */
export const keyView = z
  .strictObject({ name: z.string(), endpoints: z.array(z.string()).readonly().nullable(), admin: z.boolean() })
  .openapi("Key");

/** One finding of the doctor. */
export const checkView = shows<Check>(
  z
    .strictObject({
      name: z.string(),
      verdict: z.enum(["pass", "warn", "fail"]),
      message: z.string(),
      todo: z.string().nullable(),
    })
    .openapi("Check"),
);

/** Body that moves traffic: the spec's own schema. */
export const trafficInput = endpointInput.shape.traffic;
/** Body that sets bounds; what is left out stays. */
export const concurrencyInput = settings({
  min: z.int().min(0).optional().describe("Requests in flight that are always provisioned; 0 = may sleep"),
  max: z.int().min(1).optional().describe("Most requests in flight the endpoint may scale to"),
});
/** Body of a rollback. */
export const rollbackInput = settings({
  version: z.string().min(1).nullable().default(null).describe("Version to go back to; null = the one before"),
});
/** Body that creates a key. */
export const keyInput = settings({
  name: z.string().min(1).max(80),
  endpoints: z.array(z.string().min(1)).min(1).nullable().default(null).describe("null = all endpoints"),
  admin: z.boolean().default(false).describe("Opens the control API"),
});

/** Path parameter `name`. */
export const nameParam = z.object({ name: z.string() });

/** An answer of a route's documentation. */
export function answers<S extends z.ZodType>(schema: S, description: string) {
  return { description, content: { "application/json": { schema } } };
}

/** Errors that any route may answer. */
export const ERRORS = {
  401: answers(errorBody, "No key, or an unknown one"),
  403: answers(errorBody, "The key may not do this"),
  404: answers(errorBody, "There is nothing of this name"),
  409: answers(errorBody, "The change conflicts with what is there"),
  422: answers(errorBody, "The request is not valid; details has every problem with its path"),
} as const;

/** A JSON body of a route's documentation. */
export function takes<S extends z.ZodType>(schema: S) {
  return { required: true, content: { "application/json": { schema } } };
}
