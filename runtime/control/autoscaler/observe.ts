import { ENGINE_GAUGES } from "../../contract/names.ts";
import type { Known } from "../../core/known.ts";
import type { BoardView } from "../../domain/board.ts";
import { loadOfVersion } from "../../domain/load.ts";
import type { VersionId } from "../../domain/names.ts";
import { endpointOfVersion } from "../../domain/names.ts";
import type { ReplicaReport } from "../../domain/replica.ts";
import type { RolledVersion, Rollout } from "../../domain/rollout.ts";
import { rolledVersion } from "../../domain/rollout.ts";
import { ON_THE_WAY_MS } from "./laws.ts";
import type { LoadRow, ReplicaMeter, Replicas, RouterRows, World } from "./world.ts";
import { METER_SAMPLE } from "./world.ts";

/** Reads one version's world from the Board. Cost: O(routers + the version's own replicas). */
export function observe(board: BoardView, version: VersionId): World {
  const found = findRollout(board, version);
  const endpoint = endpointOfVersion(version);
  const spec = board.get("spec", endpoint);
  const run = found?.rolled.version.run ?? null;
  return {
    version,
    endpoint,
    hostKnown: board.keys("machine").length > 0,
    place:
      found === null
        ? null
        : {
            phase: found.rolled.phase,
            weight: found.rolled.weight,
            sizedForWeight: found.rolled.sizedForWeight,
          },
    concurrency: spec.kind === "known" ? { ...spec.value.concurrency } : null,
    sleepAfterMs: spec.kind === "known" ? spec.value.sleepAfterMs : null,
    maxInFlight: run?.maxInFlight ?? null,
    routers: found === null ? [] : routerRows(board, found.rollout),
    replicas: replicasOf(board, version, run?.cpuCount ?? 1),
    onTheWayMs: ON_THE_WAY_MS,
    predecessorTarget: found === null ? null : predecessorTarget(board, found.rollout, version),
  };
}

function findRollout(board: BoardView, version: VersionId): { rollout: Rollout; rolled: RolledVersion } | null {
  const known = board.get("rollout", endpointOfVersion(version));
  if (known.kind === "missing") return null;
  const rolled = rolledVersion(known.value, version);
  return rolled === null ? null : { rollout: known.value, rolled };
}

function routerRows(board: BoardView, rollout: Rollout): RouterRows[] {
  const result: RouterRows[] = [];
  for (const key of board.keys("routerLoad")) {
    const known = board.get("routerLoad", key);
    if (known.kind === "missing") continue;
    const { router, epoch, seq, routerMonoMs, receivedAtMs } = known.value;
    const rows = rollout.versions
      .flatMap(({ version }) => loadOfVersion(known.value, version.id).version ?? [])
      .map(
        (row): LoadRow => ({
          version: row.version,
          arrivals: row.arrivals,
          completed: row.completed,
          turnedAway: row.turnedAwayForCapacity,
          inFlight: row.inFlight,
          queued: row.queued,
          inFlightMsTotal: row.inFlightMsTotal,
          queuedMsTotal: row.queuedMsTotal,
          serviceMsTotal: row.serviceMsTotal,
        }),
      );
    result.push({ router, epoch, seq, routerMonoMs, receivedAtMs, rows });
  }
  return result;
}

function replicasOf(board: BoardView, version: VersionId, cpuCount: number): Replicas {
  const set = board.get("replicaSet", version);
  const ids =
    set.kind === "known"
      ? set.value.replicas.filter((replica) => !replica.draining).map((replica) => replica.id)
      : // Before the fleet has spoken (a controller restart), what runs is what its keepers say.
        board.replicasOf("replica", version);
  const ready: Extract<Known<ReplicaReport>, { kind: "known" }>[] = [];
  const startingSinceMs: (number | null)[] = [];
  let broken = 0;
  for (const id of ids) {
    const hosted = board.get("hosted", id);
    const report = board.get("replica", id);
    if (hosted.kind === "known" && hosted.value.state === "crash-loop") broken++;
    else if (report.kind === "known" && report.value.phase === "ready") ready.push(report);
    else startingSinceMs.push(report.kind === "known" ? report.value.startedAtMs : null);
  }
  const sampled = ready.slice(0, METER_SAMPLE);
  return {
    asked: set.kind === "known" ? ids.length : null,
    ready: ready.length,
    startingSinceMs,
    broken,
    heardAtMs: ready
      .map((report) => report.atMs as number)
      .sort((a, b) => a - b)
      .slice(0, METER_SAMPLE),
    startupMs: largest(ready.map((report) => report.value.startupMs)),
    probedConcurrency: median(sampled.map((report) => report.value.probedConcurrency)),
    warmupServiceMs: median(sampled.map((report) => report.value.warmupServiceMs)),
    meters: sampled.map((report) => meterOf(report.value, report.atMs, cpuCount)),
  };
}

function meterOf(report: ReplicaReport, atMs: number, cpuCount: number): ReplicaMeter {
  const { resources, engine } = report;
  return {
    replica: report.id,
    epoch: report.epoch,
    atMs,
    cpuMsTotal: resources.cpuMsTotal,
    throttledMsTotal: resources.throttledMsTotal,
    cpuCount,
    memoryRatio: resources.memoryLimitBytes === null ? null : resources.residentBytes / resources.memoryLimitBytes,
    kvUseRatio: engine[ENGINE_GAUGES.kvUseRatio] ?? null,
    sequencesWaiting: engine[ENGINE_GAUGES.sequencesWaiting] ?? null,
  };
}

function predecessorTarget(board: BoardView, rollout: Rollout, version: VersionId): number | null {
  const others = rollout.versions.filter((rolled) => rolled.version.id !== version);
  const first = others.toSorted((a, b) => b.weight - a.weight || b.sinceMs - a.sinceMs);
  for (const rolled of first) {
    const wanted = board.get("wanted", rolled.version.id);
    if (wanted.kind === "known") return wanted.value.targetConcurrency;
  }
  return null;
}

function largest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((max, value) => (value === null ? max : Math.max(max ?? value, value)), null);
}

function median(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}
