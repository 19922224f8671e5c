import { METRICS } from "../../contract/names.ts";
import type { MetricFamily, Sample } from "../../core/exposition.ts";
import { type BoardView, REGION_KEY } from "../../domain/board.ts";
import { LATENCY_EDGES_MS, type RouterLoad, type VersionLoad } from "../../domain/load.ts";
import { endpointOfVersion, versionOfReplica } from "../../domain/names.ts";
import type { ReplicaReport } from "../../domain/replica.ts";
import type { Measurements } from "../series/series.ts";
import { valueOrNull } from "../views/value-or-null.ts";

/** Decisions of one controller with one reason since the controller process started. */
export interface DecisionCount {
  readonly controller: string;
  readonly reason: string;
  readonly count: number;
}

/**
 * The region's metrics from the facts on the Board. Counters are those of the process that counted them, labelled by
 * it, so that its restart is the counter reset that Prometheus knows. Labels are names of endpoints, versions,
 * replicas, routers and controllers: as many as exist, never a client's text.
 */
export function regionMetrics(
  board: BoardView,
  measured: Measurements,
  decisions: readonly DecisionCount[],
): MetricFamily[] {
  const loads = board.keys("routerLoad").flatMap((key) => valueOrNull(board.get("routerLoad", key)) ?? []);
  const reports = board.keys("replica").flatMap((key) => valueOrNull(board.get("replica", key)) ?? []);
  return [
    ...loadMetrics(loads),
    ...scaleMetrics(board, measured, reports),
    ...replicaMetrics(reports),
    ...faultMetrics(loads),
    {
      name: METRICS.decisions,
      help: "Decisions made, also those that changed nothing.",
      type: "counter",
      samples: decisions.map(({ controller, reason, count }) => ({ labels: { controller, reason }, value: count })),
    },
    generationMetric(board, loads),
    {
      name: METRICS.routerMemoryBytes,
      help: "Resident memory of a router's process.",
      type: "gauge",
      samples: loads.flatMap(({ router, memoryBytes }) =>
        memoryBytes === null ? [] : [{ labels: { router }, value: memoryBytes }],
      ),
    },
  ];
}

function loadMetrics(loads: readonly RouterLoad[]): MetricFamily[] {
  const rows = loads.flatMap(({ router, versions }) =>
    versions.map((load) => ({ load, labels: { endpoint: load.endpoint, version: load.version, router } })),
  );
  const each = (name: string, help: string, type: "counter" | "gauge", read: (load: VersionLoad) => number) => ({
    name,
    help,
    type,
    samples: rows.map(({ load, labels }) => ({ labels, value: read(load) })),
  });
  const histogram = (name: string, help: string, read: (load: VersionLoad) => HistogramReading): MetricFamily => ({
    name,
    help,
    type: "histogram",
    samples: rows.flatMap(({ load, labels }) => histogramSamples(read(load), labels)),
  });
  return [
    each(METRICS.requests, "Requests that arrived.", "counter", (load) => load.arrivals),
    each(METRICS.failed, "Answers that were faults of a replica, after retries.", "counter", (load) => load.failed),
    each(
      METRICS.turnedAway,
      "Requests turned away: nothing had room.",
      "counter",
      (load) => load.turnedAwayForCapacity,
    ),
    each(
      METRICS.clientGone,
      "Requests whose client left before the answer's end.",
      "counter",
      (load) => load.clientGone,
    ),
    each(METRICS.retries, "Requests sent to a further replica.", "counter", (load) => load.retries),
    each(METRICS.inFlight, "Requests sent to a replica and not answered yet.", "gauge", (load) => load.inFlight),
    each(METRICS.queued, "Requests that wait for room in a replica.", "gauge", (load) => load.queued),
    histogram(METRICS.requestSeconds, "From a request being sent to a replica until its answer's end.", (load) => ({
      buckets: load.serviceMsBuckets,
      totalMs: load.serviceMsTotal,
    })),
    histogram(METRICS.firstByteSeconds, "From a request's arrival to the first byte of its answer.", (load) => ({
      buckets: load.firstByteMsBuckets,
      totalMs: load.firstByteMsTotal,
    })),
  ];
}

interface HistogramReading {
  readonly buckets: readonly number[];
  readonly totalMs: number;
}

/** Cumulative buckets in seconds. Every second edge is told (powers of 2 from 0.25 ms), which halves the series. */
function histogramSamples({ buckets, totalMs }: HistogramReading, labels: Sample["labels"]): Sample[] {
  const samples: Sample[] = [];
  let count = 0;
  for (const [index, inBucket] of buckets.entries()) {
    count += inBucket;
    const edgeMs = LATENCY_EDGES_MS[index];
    if (edgeMs === undefined || index % 2 === 1) continue;
    samples.push({ suffix: "_bucket", labels: { ...labels, le: String(edgeMs / 1_000) }, value: count });
  }
  samples.push({ suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count });
  samples.push({ suffix: "_sum", labels, value: totalMs / 1_000 });
  samples.push({ suffix: "_count", labels, value: count });
  return samples;
}

function scaleMetrics(board: BoardView, measured: Measurements, reports: readonly ReplicaReport[]): MetricFamily[] {
  const rolled = board.keys("rollout").flatMap((key) => valueOrNull(board.get("rollout", key))?.versions ?? []);
  const rows = rolled.map((row) => {
    const { id, endpoint } = row.version;
    return { id, labels: { endpoint, version: id }, weight: row.weight, wanted: valueOrNull(board.get("wanted", id)) };
  });
  const known = rows.flatMap(({ labels, wanted }) => (wanted === null ? [] : [{ labels, wanted }]));
  const ready = (id: string) => reports.filter((report) => report.version === id && report.phase === "ready").length;
  return [
    {
      name: METRICS.trafficRatio,
      help: "Share of the endpoint's traffic that the version gets.",
      type: "gauge",
      samples: rows.map(({ labels, weight }) => ({ labels, value: weight / 100 })),
    },
    {
      name: METRICS.targetConcurrency,
      help: "Requests in flight that one replica should carry.",
      type: "gauge",
      samples: known.map(({ labels, wanted }) => ({ labels, value: wanted.targetConcurrency })),
    },
    {
      name: METRICS.wantedReplicas,
      help: "Replicas the autoscaler wants.",
      type: "gauge",
      samples: known.map(({ labels, wanted }) => ({ labels, value: wanted.replicas })),
    },
    {
      name: METRICS.readyReplicas,
      help: "Replicas that are ready.",
      type: "gauge",
      samples: rows.map(({ id, labels }) => ({ labels, value: ready(id) })),
    },
    {
      name: METRICS.coldStarts,
      help: "Wake-ups from no ready replica since the controller started.",
      type: "counter",
      samples: rows.map(({ id, labels }) => ({ labels, value: measured.coldStarts(id) })),
    },
  ];
}

function replicaMetrics(reports: readonly ReplicaReport[]): MetricFamily[] {
  const each = (
    name: string,
    help: string,
    type: "counter" | "gauge",
    read: (report: ReplicaReport) => number | null,
  ) => ({
    name,
    help,
    type,
    samples: reports.flatMap((report) => {
      const value = read(report);
      const labels = { endpoint: endpointOfVersion(report.version), version: report.version, replica: report.id };
      return value === null ? [] : [{ labels, value }];
    }),
  });
  return [
    each(METRICS.replicaCpuSeconds, "CPU time of the replica's processes.", "counter", (report) => {
      return report.resources.cpuMsTotal / 1_000;
    }),
    each(METRICS.replicaMemoryBytes, "Resident memory of the replica's processes.", "gauge", (report) => {
      return report.resources.residentBytes;
    }),
    each(METRICS.replicaProgress, "Answers or tokens the replica has produced.", "counter", (report) => {
      return report.progressTotal;
    }),
  ];
}

/** Replicas as the routers that send to them see them. */
function faultMetrics(loads: readonly RouterLoad[]): MetricFamily[] {
  const rows = loads.flatMap(({ router, replicas }) =>
    replicas.map((load) => {
      const version = versionOfReplica(load.replica);
      return { load, labels: { endpoint: endpointOfVersion(version), version, replica: load.replica, router } };
    }),
  );
  return [
    {
      name: METRICS.replicaFaults,
      help: "Requests that were lost on the replica: resets, time-outs, answers of its own failure.",
      type: "counter",
      samples: rows.map(({ load, labels }) => ({ labels, value: load.faultsTotal })),
    },
    {
      name: METRICS.replicaEjected,
      help: "1 while the router sends the replica nothing, for its faults.",
      type: "gauge",
      samples: rows.map(({ load, labels }) => ({ labels, value: load.ejected ? 1 : 0 })),
    },
  ];
}

function generationMetric(board: BoardView, loads: readonly RouterLoad[]): MetricFamily {
  const published = valueOrNull(board.get("snapshot", REGION_KEY))?.generation ?? null;
  const held = [
    { holder: "controller", generation: published },
    ...loads.map(({ router, snapshotGeneration }) => ({ holder: router, generation: snapshotGeneration })),
  ];
  return {
    name: METRICS.snapshotGeneration,
    help: "Number of the snapshot published by the controller, and of the one each router serves by.",
    type: "gauge",
    samples: held.flatMap(({ holder, generation }) =>
      generation === null ? [] : [{ labels: { holder }, value: generation.number }],
    ),
  };
}
