import type { QueueBounds, RequestTimeouts } from "./endpoint.ts";
import type { EndpointName, Epoch, ReplicaId, VersionId } from "./names.ts";
import type { Address } from "./replica.ts";
import type { Door } from "./version.ts";

/**
 * What routers need of one endpoint: the `route` fact. `endpoint` is null once its user deleted it and its last replicas
 * still drain. Versions stand in the order of their ids.
 */
export interface Route {
  readonly endpoint: SnapshotEndpoint | null;
  readonly versions: readonly SnapshotVersion[];
}

/** The newest snapshot: the `snapshot` fact. Its content is the routes and the keys on the Board. */
export interface Published {
  readonly generation: Generation;
}

/**
 * All that a router needs to serve, every route in one. Routers hold the last one for ever, also on disk.
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

/** Rows that changed between two generations: what a router that holds `from` is sent. */
export interface SnapshotDiff {
  readonly kind: "snapshotDiff";
  readonly from: Generation;
  readonly to: Generation;
  readonly endpoints: readonly SnapshotEndpoint[];
  readonly removedEndpoints: readonly EndpointName[];
  readonly versions: readonly SnapshotVersion[];
  readonly removedVersions: readonly VersionId[];
  readonly keys: Snapshot["keys"] | null;
  readonly keysRequired: boolean;
}

/** The snapshot after a diff, or null where the diff starts from another one (a gap: ask for the whole). */
export function applyDiff(held: Snapshot, diff: SnapshotDiff): Snapshot | null {
  if (compareGenerations(held.generation, diff.from) !== 0) return null;
  return {
    generation: diff.to,
    endpoints: merge(held.endpoints, diff.endpoints, diff.removedEndpoints, (endpoint) => endpoint.name),
    versions: merge(held.versions, diff.versions, diff.removedVersions, (version) => version.id),
    keys: diff.keys ?? held.keys,
    keysRequired: diff.keysRequired,
  };
}

function merge<T>(
  held: readonly T[],
  changed: readonly T[],
  removed: readonly string[],
  idOf: (row: T) => string,
): T[] {
  const rows = new Map(held.map((row) => [idOf(row), row]));
  for (const id of removed) rows.delete(id);
  for (const row of changed) rows.set(idOf(row), row);
  return [...rows.values()];
}
