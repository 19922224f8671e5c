import type { BoardView } from "../../domain/board.ts";
import { modelKeyOf, type TrafficPolicy } from "../../domain/endpoint.ts";
import { type EndpointName, endpointOfVersion, type VersionId, versionOfReplica } from "../../domain/names.ts";
import { type Rollout, rolledVersion } from "../../domain/rollout.ts";
import type { RuntimeKind, Version } from "../../domain/version.ts";

/** What rollout reads of one endpoint. */
export interface RolloutWorld {
  readonly endpoint: EndpointName;
  /** What the user wants; null once the endpoint is deleted. */
  readonly wish: {
    readonly deployNumber: number;
    readonly traffic: TrafficPolicy;
    readonly keepVersions: number;
  } | null;
  /** The version made of what the spec names now; null while it is being prepared, or when that failed. */
  readonly candidate: Version | null;
  readonly previous: Rollout | null;
  /** A machine has told of all its replicas: one that is not known does not exist. */
  readonly hostKnown: boolean;
  readonly versions: readonly VersionFacts[];
  /** The longest load measured in the region for each runtime. */
  readonly loadTimes: readonly LoadTime[];
}

/** What is known of one version of the endpoint. */
export interface VersionFacts {
  readonly id: VersionId;
  readonly wanted: number | null;
  readonly wantedAtMs: number | null;
  readonly granted: number | null;
  /** Replicas of its set that are ready and not draining. */
  readonly ready: number;
  /** Replicas that its set or its host still holds. */
  readonly existing: number;
  readonly crashLooping: boolean;
  /** Of the replica that failed most often. */
  readonly lastLog: readonly string[];
}

/** A measured load: from process start to ready, of an artifact of this size. */
export interface LoadTime {
  readonly runtime: RuntimeKind;
  readonly startupMs: number;
  readonly sizeBytes: number;
}

/** Reads one endpoint's world off the Board. */
export function observeRollout(board: BoardView, endpoint: string): RolloutWorld {
  const spec = board.get("spec", endpoint);
  const prepared = board.get("prepared", endpoint);
  const rollout = board.get("rollout", endpoint);
  const previous = rollout.kind === "known" ? rollout.value : null;
  const isCurrent =
    spec.kind === "known" && prepared.kind === "known" && prepared.value.modelKey === modelKeyOf(spec.value);
  const candidate = isCurrent && prepared.value.state.kind === "ready" ? prepared.value.state.version : null;
  const ids = new Set(previous?.versions.map((rolled) => rolled.version.id) ?? []);
  if (candidate !== null) ids.add(candidate.id);
  return {
    endpoint,
    wish:
      spec.kind === "known"
        ? {
            deployNumber: spec.value.deployNumber,
            traffic: spec.value.traffic,
            keepVersions: spec.value.keepVersions,
          }
        : null,
    candidate,
    previous,
    hostKnown: board.keys("machine").length > 0,
    versions: [...ids].sort().map((id) => observeVersion(board, id)),
    loadTimes: observeLoadTimes(board),
  };
}

function observeVersion(board: BoardView, id: VersionId): VersionFacts {
  const wanted = board.get("wanted", id);
  const granted = board.get("granted", id);
  const set = board.get("replicaSet", id);
  const slots = set.kind === "known" ? set.value.replicas : [];
  const hosted = board.keys("hosted").flatMap((replica) => {
    const known = versionOfReplica(replica) === id ? board.get("hosted", replica) : null;
    return known?.kind === "known" ? [known.value] : [];
  });
  const ready = slots.filter((slot) => {
    const report = board.get("replica", slot.id);
    return !slot.draining && report.kind === "known" && report.value.phase === "ready";
  });
  const worst = hosted.toSorted((a, b) => b.failedStarts - a.failedStarts)[0];
  return {
    id,
    wanted: wanted.kind === "known" ? wanted.value.replicas : null,
    wantedAtMs: wanted.kind === "known" ? wanted.atMs : null,
    granted: granted.kind === "known" ? granted.value.replicas : null,
    ready: ready.length,
    existing: new Set([...slots, ...hosted].map((replica) => replica.id)).size,
    crashLooping: hosted.some((replica) => replica.state === "crash-loop"),
    lastLog: worst?.lastLog ?? [],
  };
}

function observeLoadTimes(board: BoardView): readonly LoadTime[] {
  const longest = new Map<RuntimeKind, LoadTime>();
  for (const id of board.keys("replica")) {
    const report = board.get("replica", id);
    if (report.kind === "missing" || report.value.startupMs === null) continue;
    const version = findVersion(board, report.value.version);
    if (version === null) continue;
    const { startupMs } = report.value;
    if (startupMs > (longest.get(version.runtime)?.startupMs ?? 0))
      longest.set(version.runtime, { runtime: version.runtime, startupMs, sizeBytes: version.artifact.sizeBytes });
  }
  return [...longest.values()].sort((a, b) => (a.runtime < b.runtime ? -1 : 1));
}

function findVersion(board: BoardView, id: VersionId): Version | null {
  const rollout = board.get("rollout", endpointOfVersion(id));
  return rollout.kind === "known" ? (rolledVersion(rollout.value, id)?.version ?? null) : null;
}
