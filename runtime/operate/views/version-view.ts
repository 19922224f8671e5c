import type { WallMs } from "../../core/time.ts";
import type { BoardView } from "../../domain/board.ts";
import type { VersionId } from "../../domain/names.ts";
import type { RolledVersion, VersionPhase } from "../../domain/rollout.ts";
import type { RunSettings, RuntimeKind } from "../../domain/version.ts";
import type { Rates } from "../series/load-meter.ts";
import type { Measurements } from "../series/series.ts";
import { type ReplicaView, viewReplicas } from "./replica-view.ts";
import { valueOrNull } from "./value-or-null.ts";

/** A version as people see it: where its rollout stands, its scale, its load. */
export interface VersionView {
  readonly id: VersionId;
  readonly phase: VersionPhase;
  /** Percent of the endpoint's traffic. */
  readonly weight: number;
  readonly runtime: RuntimeKind;
  readonly source: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly environmentHash: string | null;
  readonly run: RunSettings;
  readonly createdAtMs: WallMs;
  readonly failure: RolledVersion["failure"];
  /** Time left for getting ready before it is given up, or null outside staging. */
  readonly giveUpInMs: number | null;
  /** Requests in flight one replica should carry, or null before it is known. */
  readonly targetConcurrency: number | null;
  readonly scale: ReplicaCounts;
  readonly load: Rates;
  readonly coldStarts: number;
}

/** How many replicas a version wants, may have and has. */
export interface ReplicaCounts {
  readonly wanted: number | null;
  readonly granted: number | null;
  readonly ready: number;
  /** Those that exist in any state. */
  readonly existing: number;
}

/** The view of one version and those of its replicas. */
export function viewVersion(
  board: BoardView,
  rolled: RolledVersion,
  measured: Measurements,
  nowMonoMs: number,
): { readonly version: VersionView; readonly replicas: readonly ReplicaView[] } {
  const { version, phase, weight, failure, giveUpAtMs } = rolled;
  const { id, runtime, artifact, environmentHash, run, createdAtMs } = version;
  const wanted = valueOrNull(board.get("wanted", id));
  const replicas = viewReplicas(board, id, measured);
  const view: VersionView = {
    id,
    phase,
    weight,
    runtime,
    source: artifact.source,
    digest: artifact.digest,
    sizeBytes: artifact.sizeBytes,
    environmentHash,
    run,
    createdAtMs,
    failure,
    giveUpInMs: giveUpAtMs === null ? null : Math.max(0, giveUpAtMs - nowMonoMs),
    targetConcurrency: wanted?.targetConcurrency ?? null,
    scale: {
      wanted: wanted?.replicas ?? null,
      granted: valueOrNull(board.get("granted", id))?.replicas ?? null,
      ready: replicas.filter((replica) => replica.word === "ready").length,
      existing: replicas.filter((replica) => replica.word !== "wanted").length,
    },
    load: measured.rates([id], nowMonoMs),
    coldStarts: measured.coldStarts(id),
  };
  return { version: view, replicas };
}
