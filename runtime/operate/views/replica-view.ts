import type { WallMs } from "../../core/time.ts";
import type { BoardView } from "../../domain/board.ts";
import type { ReplicaId, VersionId } from "../../domain/names.ts";
import type { HostedReplica, ReplicaReport } from "../../domain/replica.ts";
import type { Measurements } from "../series/series.ts";
import { valueOrNull } from "./value-or-null.ts";

/** One word for a replica: its keeper's phase while its process runs, else what the agent says of the process. */
export type ReplicaWord = ReplicaReport["phase"] | Exclude<HostedReplica["state"], "running"> | "wanted";

/** A replica as people see it: the keeper's, the agent's and the fleet's word on it in one row. */
export interface ReplicaView {
  readonly id: ReplicaId;
  readonly version: VersionId;
  readonly word: ReplicaWord;
  readonly epoch: number | null;
  readonly pid: number | null;
  readonly address: string | null;
  readonly startedAtMs: WallMs | null;
  /** From process start to ready. */
  readonly startupMs: number | null;
  /** Null where nobody counts them. */
  readonly inFlight: number | null;
  readonly progressTotal: number | null;
  readonly cpuCores: number | null;
  readonly residentBytes: number | null;
  /** Starts in a row that ended before the replica was ready. */
  readonly failedStarts: number;
  readonly lastExit: HostedReplica["lastExit"];
  readonly lastLog: readonly string[];
  /** Engine gauges, names of contract/names.ts. */
  readonly engine: Readonly<Record<string, number>>;
}

/** The replicas of a version that exist or should: wanted, hosted or reporting ones, in the order of their ids. */
export function viewReplicas(board: BoardView, version: VersionId, measured: Measurements): ReplicaView[] {
  const wanted = valueOrNull(board.get("replicaSet", version))?.replicas ?? [];
  const draining = new Set(wanted.filter((replica) => replica.draining).map((replica) => replica.id));
  const ids = new Set(wanted.map((replica) => replica.id));
  for (const fact of ["hosted", "replica"] as const) {
    for (const id of board.replicasOf(fact, version)) ids.add(id);
  }
  const ordered = [...ids].toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return ordered.map((id) => viewReplica(board, id, version, draining.has(id), measured));
}

function viewReplica(
  board: BoardView,
  id: ReplicaId,
  version: VersionId,
  draining: boolean,
  measured: Measurements,
): ReplicaView {
  const hosted = valueOrNull(board.get("hosted", id));
  const lastReport = valueOrNull(board.get("replica", id));
  // A report of an older start says nothing about the process that runs now.
  const report = hosted !== null && lastReport !== null && lastReport.epoch < hosted.epoch ? null : lastReport;
  return {
    id,
    version,
    word: wordOf(hosted, report, draining),
    epoch: hosted?.epoch ?? report?.epoch ?? null,
    pid: hosted?.pid ?? null,
    address: report?.address ? `${report.address.host}:${report.address.port}` : null,
    startedAtMs: report?.startedAtMs ?? null,
    startupMs: report?.startupMs ?? null,
    inFlight: report?.inFlight ?? null,
    progressTotal: report?.progressTotal ?? null,
    cpuCores: report === null ? null : measured.cpuCores(id),
    residentBytes: report?.resources.residentBytes ?? null,
    failedStarts: hosted?.failedStarts ?? 0,
    lastExit: hosted?.lastExit ?? null,
    lastLog: hosted?.lastLog ?? [],
    engine: report?.engine ?? {},
  };
}

function wordOf(hosted: HostedReplica | null, report: ReplicaReport | null, draining: boolean): ReplicaWord {
  if (hosted !== null && hosted.state !== "running" && hosted.state !== "starting") return hosted.state;
  if (report !== null) return draining && report.phase === "ready" ? "draining" : report.phase;
  return hosted === null ? "wanted" : "starting";
}
