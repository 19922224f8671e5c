import type { ReplicaView } from "../../../views/replica-view.ts";

/** When a replica's progress counter was last seen to move; null = not since this page watches it. */
export interface Progress {
  readonly total: number;
  readonly epoch: number | null;
  readonly movedAtMs: number | null;
}

/** The progress notes after a look at `replicas`; those of replicas that are gone are dropped by `forgetProgress`. */
export function noteProgress(
  before: ReadonlyMap<string, Progress>,
  replicas: readonly Pick<ReplicaView, "id" | "epoch" | "progressTotal">[],
  nowMs: number,
): ReadonlyMap<string, Progress> {
  const after = new Map(before);
  for (const { id, epoch, progressTotal: total } of replicas) {
    if (total === null) continue;
    const last = before.get(id);
    if (last === undefined || last.epoch !== epoch) after.set(id, { total, epoch, movedAtMs: null });
    else if (last.total !== total) after.set(id, { total, epoch, movedAtMs: nowMs });
  }
  return after;
}

/** The notes without those of replicas that no endpoint has any more. */
export function forgetProgress(
  notes: ReadonlyMap<string, Progress>,
  existing: ReadonlySet<string>,
): ReadonlyMap<string, Progress> {
  return new Map([...notes].filter(([id]) => existing.has(id)));
}
