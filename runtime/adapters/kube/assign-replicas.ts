import type { ReplicaId } from "../../domain/names.ts";

/** A pod as the assignment sees it. */
export interface AssignedPod {
  readonly uid: string;
  /** The replica that it is, as its annotation says; null while none is. */
  readonly replica: ReplicaId | null;
  /** When it was made, in ms; decides between two that are the same replica. */
  readonly createdAtMs: number;
  /** It has been told to end. */
  readonly ending: boolean;
}

/**
 * Which replica each pod is. A Deployment's pods are all alike, and a region's replicas are not: one drains, another is
 * learned about. A pod keeps the replica that it is; a new one takes the first wanted replica that no living pod is. Pods
 * beyond what is wanted are none. Returns the replica of each pod by its uid.
 */
export function assignReplicas(
  wanted: readonly ReplicaId[],
  pods: readonly AssignedPod[],
): ReadonlyMap<string, ReplicaId> {
  const assigned = new Map<string, ReplicaId>();
  const taken = new Set<ReplicaId>();
  const oldestFirst = pods.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.uid < b.uid ? -1 : 1));
  for (const { uid, replica, ending } of oldestFirst) {
    if (replica === null) continue;
    // One that ends keeps its name to the last, and leaves it to its successor meanwhile.
    if (!ending && taken.has(replica)) continue;
    assigned.set(uid, replica);
    if (!ending) taken.add(replica);
  }
  const free = wanted.filter((replica) => !taken.has(replica));
  for (const { uid, ending } of oldestFirst) {
    if (ending || assigned.has(uid)) continue;
    const next = free.shift();
    if (next === undefined) break;
    assigned.set(uid, next);
  }
  return assigned;
}
