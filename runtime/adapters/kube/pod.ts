import { asWallMs } from "../../core/time.ts";
import type { Epoch, ReplicaId, VersionId } from "../../domain/names.ts";
import type { HostedReplica } from "../../domain/replica.ts";
import type { KubeObject } from "./objects.ts";

/** The parts of a pod that Penstock reads. */
export interface Pod extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: Terminated;
  };
  readonly lastState?: { readonly terminated?: Terminated };
}

interface Terminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAt?: string;
}

/** Starts in a row that ended, from which on a replica counts as given up: the kubelet then waits for minutes between them. */
const CRASH_LOOP_STARTS = 5;
/** More restarts of one pod than there will be, so that a later pod's epoch is always larger. */
const STARTS_PER_POD = 1_000;

/** When a pod was made, in ms of the wall clock; 0 where the server has not said it. */
export function createdAtMs({ metadata }: KubeObject): number {
  return metadata.creationTimestamp === undefined ? 0 : Date.parse(metadata.creationTimestamp);
}

/** Which start of its replica a pod's process is: larger for a later pod, and for a restart within one. */
function epochOf(pod: Pod): Epoch {
  const restarts = Math.max(0, ...(pod.status?.containerStatuses ?? []).map((one) => one.restartCount));
  return Math.floor(createdAtMs(pod) / 1_000) * STARTS_PER_POD + Math.min(restarts, STARTS_PER_POD - 1);
}

/** A pod as the host of a replica. `main` is the container that serves. */
export function hostedOf(pod: Pod, id: ReplicaId, version: VersionId, main: string): HostedReplica {
  const container = pod.status?.containerStatuses?.find((one) => one.name === main);
  const ended = container?.lastState?.terminated ?? container?.state?.terminated;
  const waiting = container?.state?.waiting;
  const failedStarts = container?.restartCount ?? 0;
  return {
    id,
    version,
    epoch: epochOf(pod),
    state: stateOf(pod, container, failedStarts),
    pid: null,
    failedStarts,
    lastExit:
      ended === undefined
        ? null
        : { code: ended.exitCode, signal: signalOf(ended), atMs: asWallMs(Date.parse(ended.finishedAt ?? "") || 0) },
    lastLog: [waiting?.message, ended?.message].filter((line): line is string => line !== undefined && line !== ""),
  };
}

function stateOf(pod: Pod, container: ContainerStatus | undefined, failedStarts: number): HostedReplica["state"] {
  if (pod.metadata.deletionTimestamp !== undefined) return "stopping";
  if (container?.state?.running !== undefined) return "running";
  if (container?.state?.waiting?.reason !== "CrashLoopBackOff") return "starting";
  return failedStarts >= CRASH_LOOP_STARTS ? "crash-loop" : "waiting";
}

/** A shell's way to say that a signal ended a program; the container's own word where there is one. */
function signalOf({ exitCode, reason }: Terminated): string | null {
  if (reason === "OOMKilled") return "OOMKilled";
  return exitCode === 137 ? "SIGKILL" : exitCode === 143 ? "SIGTERM" : null;
}
