import type { BoardView } from "../../domain/board.ts";
import { modelKeyOf, type TrafficPolicy } from "../../domain/endpoint.ts";
import type { EndpointName, VersionId } from "../../domain/names.ts";
import type { LoadTime, Rollout } from "../../domain/rollout.ts";
import type { Version } from "../../domain/version.ts";

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
    loadTimes: board.keys("loadTime").flatMap((runtime) => {
      const load = board.get("loadTime", runtime);
      return load.kind === "known" ? [load.value] : [];
    }),
  };
}

function observeVersion(board: BoardView, id: VersionId): VersionFacts {
  const wanted = board.get("wanted", id);
  const granted = board.get("granted", id);
  const set = board.get("replicaSet", id);
  const slots = set.kind === "known" ? set.value.replicas : [];
  const hosted = board.replicasOf("hosted", id).flatMap((replica) => {
    const known = board.get("hosted", replica);
    return known.kind === "known" ? [known.value] : [];
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
