import { canonicalJson, sha256Hex } from "../core/canonical.ts";
import type { EndpointName, VersionId } from "./names.ts";
import type { RunSettings, RuntimeKind } from "./version.ts";

/** Who wrote the spec: an endpoint of the region file can't be changed by the API. */
export type Origin = "api" | "file";

/** Lowest level of log lines that are written. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** How traffic is spread: to the newest good version (with an optional canary share), or fixed by the user. */
export type TrafficPolicy =
  | {
      readonly kind: "latest";
      /** Share of the newest version while its predecessor still serves; 100 = all of it, once ready. */
      readonly canaryPercent: number;
    }
  | { readonly kind: "split"; readonly parts: readonly { readonly version: VersionId; readonly percent: number }[] };

/** Time-outs of one request, each its own watchdog. */
export interface RequestTimeouts {
  readonly connectMs: number;
  /** From the request being sent to the first byte of the answer. */
  readonly firstByteMs: number;
  /** Longest silence between two pieces of a streamed answer. */
  readonly stallMs: number;
  readonly requestMs: number;
}

/** Bounds of the requests an endpoint holds while none of its replicas has room. */
export interface QueueBounds {
  readonly maxRequests: number;
  readonly maxBytes: number;
  readonly maxWaitMs: number;
}

/** An endpoint as its user wants it: the `spec` fact. Everything here but `model`, `runtime` and `run` changes without a restart. */
export interface EndpointSpec {
  readonly name: EndpointName;
  readonly origin: Origin;
  /** Grows by 1 with each change a user makes. */
  readonly generation: number;
  /** Grows by 1 with each deploy; the model is then looked at again, since an unchanged path may hold changed files. */
  readonly deployNumber: number;
  /** Path, URL or package reference of the artifact. */
  readonly model: string;
  /** `auto`: chosen by looking at the artifact. */
  readonly runtime: RuntimeKind | "auto";
  /** SHA-256 that the fetched artifact must have, or null. */
  readonly modelSha256: string | null;
  readonly run: RunSettings;
  /** Requests in flight over the whole endpoint: `min` is provisioned (0 = may sleep), `max` the most it may scale to. */
  readonly concurrency: { readonly min: number; readonly max: number };
  /** Where `concurrency.min` is 0: the last replica ends once nothing has come for this long. */
  readonly sleepAfterMs: number;
  readonly traffic: TrafficPolicy;
  /** A request may be sent to a second replica after a fault even though the first one saw it. */
  readonly idempotent: boolean;
  readonly timeouts: RequestTimeouts;
  readonly queue: QueueBounds;
  readonly maxBodyBytes: number;
  /** Good versions kept for rollback beside those that serve. */
  readonly keepVersions: number;
  /** What the keepers of its replicas write; the lines of the model itself are never left out. */
  readonly logLevel: LogLevel;
  /** Share of requests whose spans are sampled, 0..1. */
  readonly traceSampleRatio: number;
}

/** Names the model a spec asks for: equal keys need no second preparation. */
export function modelKeyOf(spec: Pick<EndpointSpec, "model" | "runtime" | "modelSha256" | "run">): string {
  const { model, runtime, modelSha256, run } = spec;
  return sha256Hex(canonicalJson({ model, runtime, modelSha256, run: { ...run } })).slice(0, 16);
}
