import type { QueueBounds, RequestTimeouts } from "./endpoint.ts";
import type { EndpointName, Epoch, ReplicaId, VersionId } from "./names.ts";
import type { Address } from "./replica.ts";
import type { Door } from "./version.ts";

/**
 * All that a router needs to serve: the `snapshot` fact. Routers hold the last one for ever, also on disk.
 * `generation` is (incarnation of the controller, number): larger is newer, compared in that order.
 */
export interface Snapshot {
  readonly generation: Generation;
  readonly endpoints: readonly SnapshotEndpoint[];
  readonly versions: readonly SnapshotVersion[];
  readonly keys: readonly SnapshotKey[];
  readonly keysRequired: boolean;
}

/** Orders snapshots over restarts of the controller. */
export interface Generation {
  readonly incarnation: number;
  readonly number: number;
}

/** An endpoint as a router sees it. */
export interface SnapshotEndpoint {
  readonly name: EndpointName;
  /** Weights sum to 100, or the list is empty before any version is ready to be woken. */
  readonly split: readonly { readonly version: VersionId; readonly weight: number }[];
  readonly doors: readonly Door[];
  readonly idempotent: boolean;
  readonly timeouts: RequestTimeouts;
  readonly queue: QueueBounds;
  readonly maxBodyBytes: number;
  readonly traceSampleRatio: number;
  /** Why it can't answer and what to do, or null. A request to it then gets this text in a 503 at once. */
  readonly problem: string | null;
}

/** A version as a router sees it. */
export interface SnapshotVersion {
  readonly id: VersionId;
  readonly endpoint: EndpointName;
  /** Requests in flight one replica should carry: the balancer's capacity. */
  readonly targetConcurrency: number;
  /** Requests in flight one replica may carry; above it requests wait. At least ceil(targetConcurrency). */
  readonly hardCap: number;
  readonly replicas: readonly SnapshotReplica[];
}

/** A replica as a router sees it: only ready or draining ones are listed. */
export interface SnapshotReplica {
  readonly id: ReplicaId;
  readonly epoch: Epoch;
  readonly address: Address;
  /** Path put before every request's path (custom runtimes behind a base URL), or "". */
  readonly basePath: string;
  readonly draining: boolean;
}

/** A key as a router sees it. */
export interface SnapshotKey {
  readonly hash: string;
  readonly name: string;
  readonly endpoints: readonly EndpointName[] | null;
  readonly admin: boolean;
}

/** Negative, 0 or positive as `a` is older than, equal to or newer than `b`. */
export function compareGenerations(a: Generation, b: Generation): number {
  return a.incarnation - b.incarnation || a.number - b.number;
}
