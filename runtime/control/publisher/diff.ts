import { canonicalJson } from "../../core/canonical.ts";
import type { Plain } from "../../core/controller.ts";
import type { Route, SnapshotDiff } from "../../domain/snapshot.ts";

/** One endpoint's route as a router holds it and as it is now; null where there is none. */
export interface RouteChange {
  readonly from: Route | null;
  readonly to: Route | null;
}

/** The rows of a diff that differ in these routes. Cost: the rows of these routes. */
export function diffRoutes(
  changes: readonly RouteChange[],
): Pick<SnapshotDiff, "endpoints" | "removedEndpoints" | "versions" | "removedVersions"> {
  const endpointsOf = (route: Route | null) => (route?.endpoint ? [route.endpoint] : []);
  const endpoints = changedRows(
    changes.flatMap(({ from }) => endpointsOf(from)),
    changes.flatMap(({ to }) => endpointsOf(to)),
    (row) => row.name,
  );
  const versions = changedRows(
    changes.flatMap(({ from }) => from?.versions ?? []),
    changes.flatMap(({ to }) => to?.versions ?? []),
    (row) => row.id,
  );
  return {
    endpoints: endpoints.changed,
    removedEndpoints: endpoints.removed,
    versions: versions.changed,
    removedVersions: versions.removed,
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
