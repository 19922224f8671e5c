import type { WallMs } from "../core/time.ts";
import type { Epoch, ReplicaId, VersionId } from "./names.ts";
import type { Version } from "./version.ts";

/** Where a replica answers. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a keeper says its replica is doing. `stuck`: work is present and nothing progresses. */
export type ReplicaPhase = "starting" | "warming" | "ready" | "draining" | "stuck";

/** Resource counters of one replica, its engine's processes summed; cumulative ones only grow within an epoch. */
export interface ResourceSample {
  readonly cpuMsTotal: number;
  /** Time that the processes' cgroup held them back; null where the kernel does not tell. */
  readonly throttledMsTotal: number | null;
  readonly residentBytes: number;
  readonly memoryLimitBytes: number | null;
}

/** What a keeper reports of its replica, on change and each second: the `replica` fact, its keeper the only writer. */
export interface ReplicaReport {
  readonly id: ReplicaId;
  readonly version: VersionId;
  readonly epoch: Epoch;
  readonly phase: ReplicaPhase;
  /** Known once it listens. */
  readonly address: Address | null;
  readonly startedAtMs: WallMs;
  /** From process start to ready (load and warm-up; the onboarding probe comes after it), or null until ready. */
  readonly startupMs: number | null;
  /** Unloaded service time seen in warm-up, or null until warm. */
  readonly warmupServiceMs: number | null;
  /** Target concurrency that the onboarding probe found on this replica, or null where it made none. */
  readonly probedConcurrency: number | null;
  /** Answers (or tokens) produced so far in this epoch: it grows while work is present, or the replica is stuck; null where the engine does not count. */
  readonly progressTotal: number | null;
  /** Requests inside the replica; null where the engine does not count. */
  readonly inFlight: number | null;
  readonly resources: ResourceSample;
  /** Engine metrics under one set of names (contract/names.ts); those that the engine does not know are left out. */
  readonly engine: Readonly<Record<string, number>>;
}

/** A replica process as the agent sees it: the `hosted` fact, the agent the only writer. */
export interface HostedReplica {
  readonly id: ReplicaId;
  readonly version: VersionId;
  readonly epoch: Epoch;
  /** `waiting`: a restart is backing off. `crash-loop`: given up until the wanted set changes. */
  readonly state: "starting" | "running" | "waiting" | "crash-loop" | "stopping";
  readonly pid: number | null;
  /** Starts that ended before the replica was ready, in a row. */
  readonly failedStarts: number;
  readonly lastExit: { readonly code: number | null; readonly signal: string | null; readonly atMs: WallMs } | null;
  /** The last lines it wrote, oldest first, at most 20. */
  readonly lastLog: readonly string[];
}

/** Replicas of one version that must exist: the `replicaSet` fact, fleet the only writer; a hand applies it to the ReplicaHost. */
export interface ReplicaSet {
  readonly version: Version;
  readonly replicas: readonly WantedReplica[];
}

/** One replica that must exist. A draining one gets no new requests and is left out of the set once it is idle. */
export interface WantedReplica {
  readonly id: ReplicaId;
  readonly draining: boolean;
}

/** Wanted scale of one version: the `wanted` fact, the autoscaler the only writer. */
export interface Wanted {
  readonly version: VersionId;
  readonly replicas: number;
  /** Requests in flight that one replica should carry (learned). */
  readonly targetConcurrency: number;
}

/** Replicas a version is granted out of the machine's or pool's capacity: the `granted` fact, capacity the only writer. */
export interface Granted {
  readonly version: VersionId;
  readonly replicas: number;
}

/** What the machine (or pool) has to give: the `machine` fact, the agent the only writer. */
export interface Machine {
  readonly cpuCount: number;
  readonly memoryBytes: number;
  readonly memoryAvailableBytes: number;
  readonly bootId: string;
}
