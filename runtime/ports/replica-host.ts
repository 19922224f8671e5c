import type { VersionId } from "../domain/names.ts";
import type { HostedReplica, Machine, ReplicaReport, ReplicaSet } from "../domain/replica.ts";

/**
 * Where replicas run: processes under an agent, or Deployments of a cluster. `apply` is idempotent and complete for
 * one version: replicas left out are stopped gracefully, missing ones are started, others are left alone.
 */
export interface ReplicaHost {
  apply(set: ReplicaSet): void;
  /** Stops all replicas of a version. */
  remove(version: VersionId): void;
  /**
   * Tells what it sees, as often as it likes. On each (re)connection of a machine all its replicas are told first and
   * the machine last: once a machine is known, a replica that was not told does not exist there.
   */
  watch(observer: ReplicaHostObserver): () => void;
}

/** Receives what a host and its keepers report. */
export interface ReplicaHostObserver {
  hosted(replica: HostedReplica): void;
  /** The process is gone and will not be started again. */
  gone(replica: string): void;
  replica(report: ReplicaReport): void;
  machine(name: string, machine: Machine): void;
}
