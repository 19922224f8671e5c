import type { SnapshotDiff } from "../../contract/wire/messages.ts";
import { compareGenerations, type Snapshot } from "../../domain/snapshot.ts";

/** What a router holds before it was ever told anything: no endpoints, and keys asked for. */
export const EMPTY_SNAPSHOT: Snapshot = {
  generation: { incarnation: 0, number: 0 },
  endpoints: [],
  versions: [],
  keys: [],
  keysRequired: true,
};

/** The snapshot after a diff, or null where the diff starts from another one (a gap: ask for the whole). */
export function applyDiff(held: Snapshot, diff: SnapshotDiff): Snapshot | null {
  if (compareGenerations(held.generation, diff.from) !== 0) return null;
  return {
    generation: diff.to,
    endpoints: merge(held.endpoints, diff.endpoints, diff.removedEndpoints, (endpoint) => endpoint.name),
    versions: merge(held.versions, diff.versions, diff.removedVersions, (version) => version.id),
    keys: diff.keys ?? held.keys,
    keysRequired: diff.keysRequired,
  };
}

function merge<T>(
  held: readonly T[],
  changed: readonly T[],
  removed: readonly string[],
  idOf: (row: T) => string,
): T[] {
  const rows = new Map(held.map((row) => [idOf(row), row]));
  for (const id of removed) rows.delete(id);
  for (const row of changed) rows.set(idOf(row), row);
  return [...rows.values()];
}
