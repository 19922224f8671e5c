import type { BoardView } from "../../domain/board.ts";
import { REGION_KEY } from "../../domain/board.ts";
import { loadOfVersion } from "../../domain/load.ts";
import { type Epoch, endpointOfVersion, type ReplicaId } from "../../domain/names.ts";
import type { HostedReplica, ReplicaPhase } from "../../domain/replica.ts";
import { rolledVersion, type VersionPhase } from "../../domain/rollout.ts";
import type { Generation } from "../../domain/snapshot.ts";
import type { Version } from "../../domain/version.ts";

/** What fleet reads of one version. Counts are null where nobody has said them yet. */
export interface FleetWorld {
  readonly version: Version | null;
  readonly phase: VersionPhase | null;
  readonly wanted: number | null;
  readonly granted: number | null;
  /** Longest time one request may take; null once the endpoint is gone. */
  readonly requestMs: number | null;
  /** A machine has told of all its replicas. */
  readonly hostKnown: boolean;
  readonly hosted: readonly { readonly id: ReplicaId; readonly state: HostedReplica["state"]; readonly epoch: Epoch }[];
  readonly reports: readonly {
    readonly id: ReplicaId;
    readonly phase: ReplicaPhase;
    readonly epoch: Epoch;
    readonly inFlight: number | null;
  }[];
  /** The newest snapshot: its generation, and the replicas of this version that it opens to new requests. */
  readonly snapshot: { readonly generation: Generation; readonly open: readonly ReplicaId[] } | null;
  readonly routers: readonly RouterRows[];
}

/** One router's newest report, its rows of this version's replicas only. */
export interface RouterRows {
  readonly name: string;
  readonly generation: Generation | null;
  readonly rows: readonly { readonly id: ReplicaId; readonly inFlight: number; readonly draining: boolean }[];
}

/** Reads one version's world off the Board. */
export function observeFleet(board: BoardView, key: string): FleetWorld {
  const rollout = board.get("rollout", endpointOfVersion(key));
  const rolled = rollout.kind === "known" ? rolledVersion(rollout.value, key) : null;
  const spec = board.get("spec", endpointOfVersion(key));
  const wanted = board.get("wanted", key);
  const granted = board.get("granted", key);
  return {
    version: rolled?.version ?? null,
    phase: rolled?.phase ?? null,
    wanted: wanted.kind === "known" ? wanted.value.replicas : null,
    granted: granted.kind === "known" ? granted.value.replicas : null,
    requestMs: spec.kind === "known" ? spec.value.timeouts.requestMs : null,
    hostKnown: board.keys("machine").length > 0,
    hosted: ofVersion(board, "hosted", key).map(({ id, state, epoch }) => ({ id, state, epoch })),
    reports: ofVersion(board, "replica", key).map(({ id, phase, epoch, inFlight }) => ({ id, phase, epoch, inFlight })),
    snapshot: observeSnapshot(board, key),
    routers: observeRouters(board, key),
  };
}

function ofVersion<F extends "hosted" | "replica">(board: BoardView, fact: F, version: string) {
  return board.replicasOf(fact, version).flatMap((id) => {
    const known = board.get(fact, id);
    return known.kind === "known" ? [known.value] : [];
  });
}

function observeSnapshot(board: BoardView, version: string): FleetWorld["snapshot"] {
  const snapshot = board.get("snapshot", REGION_KEY);
  if (snapshot.kind === "missing") return null;
  const route = board.get("route", endpointOfVersion(version));
  const row = route.kind === "known" ? route.value.versions.find((candidate) => candidate.id === version) : undefined;
  return {
    generation: snapshot.value.generation,
    open: (row?.replicas ?? []).filter((replica) => !replica.draining).map((replica) => replica.id),
  };
}

function observeRouters(board: BoardView, version: string): readonly RouterRows[] {
  return board.keys("routerLoad").flatMap((name) => {
    const load = board.get("routerLoad", name);
    if (load.kind === "missing") return [];
    const { replicas } = loadOfVersion(load.value, version);
    return [
      {
        name,
        generation: load.value.snapshotGeneration,
        rows: replicas.map(({ replica, inFlight, draining }) => ({ id: replica, inFlight, draining })),
      },
    ];
  });
}
