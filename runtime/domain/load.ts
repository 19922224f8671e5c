import { oncePer } from "../core/once-per.ts";
import type { MonoMs } from "../core/time.ts";
import { type EndpointName, type Epoch, type ReplicaId, type VersionId, versionOfReplica } from "./names.ts";
import type { Generation } from "./snapshot.ts";

/**
 * Upper edges of the latency histogram's buckets in milliseconds: 0.25 ms times powers of 2^(1/2), 48 of them
 * (the last edge is about 49 minutes); one more bucket above holds the rest. Worst reading error is 19 %.
 */
export const LATENCY_EDGES_MS: readonly number[] = Array.from({ length: 48 }, (_, index) => 0.25 * 2 ** (index / 2));

/** No request in any bucket: the LATENCY_EDGES_MS and the one above them. */
export function emptyLatencyBuckets(): number[] {
  return Array.from({ length: LATENCY_EDGES_MS.length + 1 }, () => 0);
}

/**
 * Load of one version as one router has counted it since it started: cumulative, so that a lost report is repaired by
 * the next and a repeated one changes nothing. Integrals are over the router's own monotonic time.
 */
export interface VersionLoad {
  readonly version: VersionId;
  readonly endpoint: EndpointName;
  readonly arrivals: number;
  readonly completed: number;
  /** Answers that were faults of a replica (5xx, reset, time-out), after retries. */
  readonly failed: number;
  /** Turned away since nothing had room (503, or the queue's bound). */
  readonly turnedAwayForCapacity: number;
  readonly clientGone: number;
  readonly retries: number;
  /** Now, gauges. */
  readonly inFlight: number;
  readonly queued: number;
  /** Request-milliseconds: the time integrals of the two gauges. */
  readonly inFlightMsTotal: number;
  readonly queuedMsTotal: number;
  /** Counts per bucket of LATENCY_EDGES_MS (49 of them): from the request being sent to a replica until its answer's end. */
  readonly serviceMsBuckets: readonly number[];
  /** The same, from arrival to the answer's first byte. */
  readonly firstByteMsBuckets: readonly number[];
  readonly serviceMsTotal: number;
  readonly firstByteMsTotal: number;
}

/** Load of one replica as one router sees it. */
export interface ReplicaLoad {
  readonly replica: ReplicaId;
  readonly epoch: Epoch;
  readonly inFlight: number;
  /** The router already sends it nothing new. */
  readonly draining: boolean;
  readonly ejected: boolean;
  readonly faultsTotal: number;
}

/** One router's report: the `routerLoad` fact, that router the only writer. (router, epoch, seq) tells repeats and restarts apart. */
export interface RouterLoad {
  readonly router: string;
  readonly epoch: Epoch;
  readonly seq: number;
  /** Router's monotonic time of the report; integrals divide by differences of it. */
  readonly routerMonoMs: number;
  /** When the controller got it. */
  readonly receivedAtMs: MonoMs;
  /** The snapshot it served by when it made this report; null before it has any. A drain is proved by a report made under a snapshot that shows it. */
  readonly snapshotGeneration: Generation | null;
  /** Resident memory of the router's process; null where there is no such process (simulated). */
  readonly memoryBytes: number | null;
  /** All versions of its snapshot and all others with work left: a version not listed has nothing here. */
  readonly versions: readonly VersionLoad[];
  /** All replicas of its snapshot and all others with work left: a replica not listed has nothing here. */
  readonly replicas: readonly ReplicaLoad[];
}

/** The rows of one version in a router's report. */
interface VersionRows {
  readonly version: VersionLoad | null;
  readonly replicas: readonly ReplicaLoad[];
}

const NO_ROWS: VersionRows = { version: null, replicas: [] };

const rowsByVersion = oncePer((load: RouterLoad): ReadonlyMap<VersionId, VersionRows> => {
  const rows = new Map<VersionId, { version: VersionLoad | null; replicas: ReplicaLoad[] }>();
  const rowsOf = (id: VersionId) => {
    const known = rows.get(id) ?? { version: null, replicas: [] };
    rows.set(id, known);
    return known;
  };
  for (const row of load.versions) rowsOf(row.version).version = row;
  for (const row of load.replicas) rowsOf(versionOfReplica(row.replica)).replicas.push(row);
  return rows;
});

/** What a router says of one version and its replicas. Cost: one pass over the report at its first call, a look-up then. */
export function loadOfVersion(load: RouterLoad, version: VersionId): VersionRows {
  return rowsByVersion(load).get(version) ?? NO_ROWS;
}
