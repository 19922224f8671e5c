import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { asWallMs } from "../../core/time.ts";
import type { ReplicaPhase, ReplicaReport } from "../../domain/replica.ts";
import type { Log } from "../../ports/log.ts";
import { serveHealth } from "./health-server.ts";

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => quiet };

let server: Server;
afterEach(() => server.close());

const report: ReplicaReport = {
  id: "iris-0123456789-2",
  version: "iris-0123456789",
  epoch: 1,
  phase: "ready",
  address: null,
  startedAtMs: asWallMs(0),
  startupMs: 1_500,
  warmupServiceMs: null,
  probedConcurrency: null,
  progressTotal: 42,
  inFlight: 3,
  resources: {
    cpuMsTotal: 2_000,
    throttledMsTotal: 0,
    residentBytes: 1_048_576,
    memoryLimitBytes: null,
  },
  engine: { batch_size_mean: 2.5 },
};

async function ask(path: string, change: Partial<ReplicaReport> = {}): Promise<{ status: number; text: string }> {
  server = await serveHealth(() => ({ ...report, ...change }), "127.0.0.1", quiet);
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: "close" } });
  return { status: answer.status, text: await answer.text() };
}

test.each<[ReplicaPhase, number, number]>([
  ["starting", 200, 503],
  ["warming", 200, 503],
  ["ready", 200, 200],
  ["draining", 200, 503],
  ["stuck", 503, 503],
])("a replica that is %s answers /live with %i and /ready with %i", async (phase, live, ready) => {
  expect(await ask("/live", { phase })).toEqual({ status: live, text: `${phase}\n` });
  server.close();
  expect(await ask("/ready", { phase })).toEqual({ status: ready, text: `${phase}\n` });
});

test("/metrics has the replica's counters in Prometheus' format, and leaves out what is not known", async () => {
  const { text } = await ask("/metrics", { startupMs: null });
  const labels = 'replica="iris-0123456789-2",version="iris-0123456789"';
  const lines = text.split("\n").filter((line) => !line.startsWith("#") && line !== "");
  expect(lines).toEqual([
    `penstock_replica_ready{${labels}} 1`,
    `penstock_replica_in_flight{${labels}} 3`,
    `penstock_replica_progress_total{${labels}} 42`,
    `penstock_replica_cpu_seconds_total{${labels}} 2`,
    `penstock_replica_memory_bytes{${labels}} 1048576`,
    `penstock_replica_engine{${labels},gauge="batch_size_mean"} 2.5`,
  ]);
});

test("any other path is a 404 that names those there are", async () => {
  expect(await ask("/")).toMatchObject({ status: 404, text: expect.stringContaining("/live, /ready and /metrics") });
});
