import type { Now, WallMs } from "../../core/time.ts";
import type { BoardView } from "../../domain/board.ts";
import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { EndpointName } from "../../domain/names.ts";
import type { Prepared } from "../../domain/rollout.ts";
import { DOORS_OF_RUNTIME, type Door } from "../../domain/version.ts";
import type { Rates } from "../series/load-meter.ts";
import type { Measurements } from "../series/series.ts";
import type { ReplicaView } from "./replica-view.ts";
import { type EndpointStatus, statusOf } from "./status.ts";
import { valueOrNull } from "./value-or-null.ts";
import { type ReplicaCounts, type VersionView, viewVersion } from "./version-view.ts";

/** An endpoint as people see it: one row of `penstock get`, and all of `penstock describe` but decisions and logs. */
export interface EndpointView {
  readonly name: EndpointName;
  readonly status: EndpointStatus;
  readonly spec: EndpointSpec;
  /** The state of making the newest version, or null before that began. */
  readonly prepared: Prepared["state"] | null;
  /** Generation of the spec that `prepared` answers. */
  readonly preparedDeployNumber: number | null;
  /** Door names, the preferred one first; empty before a version exists. */
  readonly doors: readonly Door[];
  readonly versions: readonly VersionView[];
  readonly replicas: readonly ReplicaView[];
  /** Sums over versions; `wanted` and `granted` are null when unknown for all. */
  readonly scale: ReplicaCounts;
  readonly load: Rates;
  readonly coldStarts: number;
  readonly updatedAtMs: WallMs | null;
}

/** The view of the endpoint that `spec` describes. */
export function viewEndpoint(board: BoardView, spec: EndpointSpec, measured: Measurements, now: Now): EndpointView {
  const { name } = spec;
  const prepared = valueOrNull(board.get("prepared", name));
  const rollout = valueOrNull(board.get("rollout", name));
  const parts = (rollout?.versions ?? []).map((rolled) => viewVersion(board, rolled, measured, now.mono));
  const versions = parts.map((part) => part.version);
  const replicas = parts.flatMap((part) => part.replicas);
  const newest = versions.toSorted((a, b) => b.createdAtMs - a.createdAtMs)[0];
  return {
    name,
    status: statusOf(spec, prepared, versions, replicas),
    spec,
    prepared: prepared?.state ?? null,
    preparedDeployNumber: prepared?.deployNumber ?? null,
    doors: newest === undefined ? [] : DOORS_OF_RUNTIME[newest.runtime],
    versions,
    replicas,
    scale: {
      wanted: sumOrNull(versions.map((version) => version.scale.wanted)),
      granted: sumOrNull(versions.map((version) => version.scale.granted)),
      ready: versions.reduce((sum, version) => sum + version.scale.ready, 0),
      existing: versions.reduce((sum, version) => sum + version.scale.existing, 0),
    },
    load: measured.rates(
      versions.map((version) => version.id),
      now.mono,
    ),
    coldStarts: versions.reduce((sum, version) => sum + version.coldStarts, 0),
    updatedAtMs: rollout?.updatedAtMs ?? null,
  };
}

function sumOrNull(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
