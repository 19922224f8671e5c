import type { SnapshotDiff } from "../../contract/wire/messages.ts";
import { canonicalJson } from "../../core/canonical.ts";
import type { Plain } from "../../core/controller.ts";
import type { Snapshot } from "../../domain/snapshot.ts";

/** The rows that differ between two snapshots. Applied to `from` by name it gives `to`. */
export function diffSnapshots(from: Snapshot, to: Snapshot): SnapshotDiff {
  const endpoints = changedRows(from.endpoints, to.endpoints, (row) => row.name);
  const versions = changedRows(from.versions, to.versions, (row) => row.id);
  return {
    kind: "snapshotDiff",
    from: from.generation,
    to: to.generation,
    endpoints: endpoints.changed,
    removedEndpoints: endpoints.removed,
    versions: versions.changed,
    removedVersions: versions.removed,
    keys: textOf(from.keys) === textOf(to.keys) ? null : to.keys,
    keysRequired: to.keysRequired,
  };
}

function changedRows<R>(from: readonly R[], to: readonly R[], nameOf: (row: R) => string) {
  const before = new Map(from.map((row) => [nameOf(row), textOf(row)]));
  const after = new Set(to.map(nameOf));
  return {
    changed: to.filter((row) => before.get(nameOf(row)) !== textOf(row)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

const textOf = (value: unknown): string => canonicalJson(value as Plain);
