import type { EndpointName, Epoch, VersionId } from "../../domain/names.ts";
import type { VersionPhase } from "../../domain/rollout.ts";

/** What the autoscaler sees of one version at one moment; plain, so that a recorded decision can be made again. */
export interface World {
  readonly version: VersionId;
  readonly endpoint: EndpointName;
  /** Whether the host has told what runs; until then no replicas on the Board does not mean that there are none. */
  readonly hostKnown: boolean;
  /** Null once the version is in no rollout: it is wanted no more. */
  readonly place: Place | null;
  /** The endpoint's range of requests in flight, or null while its spec is missing. */
  readonly concurrency: { readonly min: number; readonly max: number } | null;
  /** With a minimum of 0, the last replica ends once nothing came for this long; null while the spec is missing. */
  readonly sleepAfterMs: number | null;
  /** Cap that the model itself demands on one replica, or null. */
  readonly maxInFlight: number | null;
  readonly routers: readonly RouterRows[];
  readonly replicas: Replicas;
  /** What a client's latency holds beside the service time. */
  readonly onTheWayMs: number;
  /** Learned target of the version that serves most of the endpoint, for a new version to start from. */
  readonly predecessorTarget: number | null;
}

/** Where the version stands in its endpoint's rollout. */
export interface Place {
  readonly phase: VersionPhase;
  readonly weight: number;
  readonly sizedForWeight: number;
}

/** One router's cumulative counts of the endpoint's versions. */
export interface RouterRows {
  readonly router: string;
  readonly epoch: Epoch;
  readonly seq: number;
  readonly routerMonoMs: number;
  readonly receivedAtMs: number;
  readonly rows: readonly LoadRow[];
}

/** The part of a VersionLoad that scaling reads. */
export interface LoadRow {
  readonly version: VersionId;
  readonly arrivals: number;
  readonly completed: number;
  readonly turnedAway: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly inFlightMsTotal: number;
  readonly queuedMsTotal: number;
  readonly serviceMsTotal: number;
}

/** The version's replicas, counted; rows only where an age or a meter matters. */
export interface Replicas {
  /** Replicas the fleet has asked for and does not drain, or null before it has said so. */
  readonly asked: number | null;
  readonly ready: number;
  /** When each replica that is not ready yet was started, by wall clock (null: no report yet). */
  readonly startingSinceMs: readonly (number | null)[];
  /** Replicas that can't serve and won't soon by themselves: given up after failed starts. */
  readonly broken: number;
  /** When the keeper of each ready replica last spoke, oldest first, at most METER_SAMPLE of them. */
  readonly heardAtMs: readonly number[];
  /** Longest measured start of any replica, or null where none has been ready. */
  readonly startupMs: number | null;
  readonly probedConcurrency: number | null;
  readonly warmupServiceMs: number | null;
  readonly meters: readonly ReplicaMeter[];
}

/** Resource counters of one ready replica. */
export interface ReplicaMeter {
  readonly replica: string;
  readonly epoch: Epoch;
  readonly atMs: number;
  readonly cpuMsTotal: number;
  readonly throttledMsTotal: number | null;
  readonly cpuCount: number;
  /** Resident memory over its limit, or null without a limit. */
  readonly memoryRatio: number | null;
  readonly kvUseRatio: number | null;
  readonly sequencesWaiting: number | null;
}

/** Replicas whose meters are read: a mean over 64 is within a few percent of the mean over thousands. */
export const METER_SAMPLE = 64;
