import type { BoardView } from "../../domain/board.ts";
import type { VersionId } from "../../domain/names.ts";
import type { Version } from "../../domain/version.ts";

/** What capacity reads of a region. */
export interface CapacityWorld {
  /** Sums over the machines; null before any has reported. */
  readonly machines: {
    readonly cpuCount: number;
    readonly memoryBytes: number;
    readonly memoryAvailableBytes: number;
  } | null;
  /** Versions that stage or serve, or still have replicas; sorted by id. */
  readonly versions: readonly VersionNeed[];
}

/** One version's need and what it holds. */
export interface VersionNeed {
  readonly id: VersionId;
  readonly cpuCount: number;
  /** Memory allotted to one replica by the user, or null. */
  readonly allottedBytes: number | null;
  readonly artifactBytes: number;
  /** Largest resident memory of a replica reported now, or null. */
  readonly residentBytes: number | null;
  readonly wanted: number;
  /** Replicas that must be had before others get more than theirs. */
  readonly guaranteed: number;
  /** Replicas in its set now, draining ones too; what runs of it where fleet has not decided its set yet. */
  readonly held: number;
  /** Replicas that left its set and are not gone yet. */
  readonly leaving: number;
}

/** Reads the region's world off the Board. */
export function observeCapacity(board: BoardView): CapacityWorld {
  const machines = board.keys("machine").flatMap((name) => {
    const machine = board.get("machine", name);
    return machine.kind === "known" ? [machine.value] : [];
  });
  const versions = board.keys("rollout").flatMap((endpoint) => {
    const rollout = board.get("rollout", endpoint);
    if (rollout.kind === "missing") return [];
    return rollout.value.versions.map(({ version, phase }) => ({
      version,
      active: phase === "staging" || phase === "serving",
      least: phase === "staging" ? 1 : 0,
    }));
  });
  return {
    machines:
      machines.length === 0
        ? null
        : {
            cpuCount: sum(machines.map((machine) => machine.cpuCount)),
            memoryBytes: sum(machines.map((machine) => machine.memoryBytes)),
            memoryAvailableBytes: sum(machines.map((machine) => machine.memoryAvailableBytes)),
          },
    versions: versions
      .map(({ version, active, least }) => ({
        active,
        need: needOf(board, version, active ? least : null),
      }))
      .filter(({ active, need }) => active || need.held + need.leaving > 0)
      .map(({ need }) => need)
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

/** `least` is the replicas that its phase asks for; null where the version ends. */
function needOf(board: BoardView, version: Version, least: number | null): VersionNeed {
  const wanted = board.get("wanted", version.id);
  const { held, leaving } = countReplicas(board, version.id);
  const guaranteed = least ?? 0;
  // Not said yet, as after a restart, is not zero: what runs is asked for, or a serving version would be drained.
  const said = wanted.kind === "known" ? wanted.value.replicas : held;
  const asked = least === null ? 0 : said;
  return {
    id: version.id,
    cpuCount: version.run.url === null ? version.run.cpuCount : 0,
    allottedBytes: version.run.memoryBytes,
    artifactBytes: version.artifact.sizeBytes,
    residentBytes: residentBytesOf(board, version.id),
    wanted: Math.max(asked, guaranteed),
    guaranteed: Math.max(guaranteed, Math.min(1, asked)),
    held,
    leaving,
  };
}

function countReplicas(board: BoardView, version: VersionId): { readonly held: number; readonly leaving: number } {
  const hosted = board.replicasOf("hosted", version);
  const set = board.get("replicaSet", version);
  if (set.kind === "missing") return { held: hosted.length, leaving: 0 };
  const inSet = new Set(set.value.replicas.map((replica) => replica.id));
  return { held: inSet.size, leaving: hosted.filter((id) => !inSet.has(id)).length };
}

/** Largest resident memory of a ready replica of the version, or null where none is. */
function residentBytesOf(board: BoardView, version: VersionId): number | null {
  const resident = board.replicasOf("replica", version).flatMap((id) => {
    const report = board.get("replica", id);
    return report.kind === "known" && report.value.phase === "ready" ? [report.value.resources.residentBytes] : [];
  });
  return resident.length === 0 ? null : resident.reduce((largest, bytes) => Math.max(largest, bytes));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
