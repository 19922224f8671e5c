import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { METRICS } from "../../contract/names.ts";
import { EXPOSITION_TYPE, type MetricFamily, renderExposition } from "../../core/exposition.ts";
import type { ReplicaReport } from "../../domain/replica.ts";
import type { Log } from "../../ports/log.ts";

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/**
 * Serves a keeper's verdict at a port of its own, which the log tells: `/live` is 200 unless the replica is stuck,
 * `/ready` is 200 while it takes requests, `/metrics` has its counters in Prometheus' format.
 * The port keeps no process alive.
 */
export async function serveHealth(latest: () => ReplicaReport, host: string, log: Log): Promise<Server> {
  const server = createServer((request, response) => {
    const { status, type, text } = answerOf(request.url ?? "", latest());
    response.writeHead(status, { "content-type": type }).end(request.method === "HEAD" ? "" : text);
  });
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  log.info("KEEPER_LISTENING", { host, port: (server.address() as AddressInfo).port });
  return server;
}

function answerOf(target: string, report: ReplicaReport): Answer {
  const { phase } = report;
  switch (target.split("?")[0]) {
    case "/live":
      return plain(phase === "stuck" ? 503 : 200, phase);
    case "/ready":
      return plain(phase === "ready" ? 200 : 503, phase);
    case "/metrics":
      return { status: 200, type: EXPOSITION_TYPE, text: renderExposition(metricsOf(report)) };
    default:
      return plain(404, "a keeper answers /live, /ready and /metrics");
  }
}

function plain(status: number, text: string): Answer {
  return { status, type: "text/plain; charset=utf-8", text: `${text}\n` };
}

function metricsOf(report: ReplicaReport): MetricFamily[] {
  const labels = { replica: report.id, version: report.version };
  const one = (name: string, type: "counter" | "gauge", help: string, value: number | null): MetricFamily => {
    return { name, type, help, samples: value === null ? [] : [{ labels, value }] };
  };
  const { resources, engine, startupMs } = report;
  return [
    one(METRICS.replicaReady, "gauge", "1 while the replica takes requests.", report.phase === "ready" ? 1 : 0),
    one(METRICS.replicaInFlight, "gauge", "Requests inside the replica.", report.inFlight),
    one(METRICS.replicaProgress, "counter", "Answers or tokens the replica has produced.", report.progressTotal),
    one(METRICS.replicaStartSeconds, "gauge", "From start to ready.", startupMs === null ? null : startupMs / 1_000),
    one(METRICS.replicaCpuSeconds, "counter", "CPU time of its processes.", resources.cpuMsTotal / 1_000),
    one(METRICS.replicaMemoryBytes, "gauge", "Resident memory of its processes.", resources.residentBytes),
    {
      name: METRICS.replicaEngine,
      type: "gauge",
      help: "What the engine says of itself.",
      samples: Object.entries(engine).map(([gauge, value]) => ({ labels: { ...labels, gauge }, value })),
    },
  ];
}
