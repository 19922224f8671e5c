import { expect, test } from "vitest";
import { METRICS } from "../../contract/names.ts";
import { renderExposition } from "../../core/exposition.ts";
import { createApi } from "../api/app.ts";
import { Series } from "../series/series.ts";
import {
  aReport,
  aRolledVersion,
  aRollout,
  aRouterLoad,
  aVersion,
  aVersionLoad,
  bucketsWith,
} from "../testing/facts.ts";
import { FakeBoard } from "../testing/fake-board.ts";
import { FakeRegion } from "../testing/fake-region.ts";
import { parseStrictly } from "../testing/strict-parser.ts";
import { regionMetrics } from "./metrics.ts";

const iris = aVersion().id;

function busyBoard(): FakeBoard {
  const board = new FakeBoard();
  const kept = aRolledVersion({ version: aVersion("b"), phase: "kept", weight: 0 });
  board.put("rollout", "iris", aRollout([aRolledVersion(), kept]));
  board.put("wanted", iris, { version: iris, replicas: 2, targetConcurrency: 4.5 });
  board.put("replica", `${iris}-0`, aReport({ resources: { ...aReport().resources, cpuMsTotal: 1_500 } }));
  const load = aVersionLoad({
    arrivals: 10,
    serviceMsBuckets: bucketsWith([
      { ms: 3, count: 4 },
      { ms: 1e9, count: 1 },
    ]),
    serviceMsTotal: 12,
    firstByteMsTotal: 6,
  });
  board.put("routerLoad", "router-0", aRouterLoad(1, [load]));
  board.put("routerLoad", "router-1", aRouterLoad(1, [load], { router: "router-1" }));
  return board;
}

test("the text is what a strict reader takes, with a series per version and router", () => {
  const families = parseStrictly(renderExposition(regionMetrics(busyBoard(), new Series(), [])));
  const read = (name: string) =>
    families.get(name)?.map(({ labels, value }) => [labels.version ?? labels.holder, value]);
  expect(read(METRICS.requests)).toEqual([
    [iris, 10],
    [iris, 10],
  ]);
  expect(read(METRICS.wantedReplicas)).toEqual([[iris, 2]]);
  expect(read(METRICS.trafficRatio)).toEqual([
    [iris, 1],
    [aVersion("b").id, 0],
  ]);
  expect(read(METRICS.replicaCpuSeconds)).toEqual([[iris, 1.5]]);
});

test("histograms are cumulative, in seconds, with the rest above the last edge in +Inf", () => {
  const families = parseStrictly(renderExposition(regionMetrics(busyBoard(), new Series(), [])));
  const samples = families.get(METRICS.requestSeconds)?.filter(({ labels }) => labels.router === "router-0") ?? [];
  const at = (le: string) => samples.find(({ labels }) => labels.le === le)?.value;
  // 3 ms lies above the edge of 2 ms and below that of 4 ms.
  expect([at("0.002"), at("0.004"), at("+Inf")]).toEqual([0, 4, 5]);
  expect(samples.find(({ name }) => name.endsWith("_sum"))?.value).toBe(0.012);
  const firstByte = families.get(METRICS.firstByteSeconds)?.find(({ name }) => name.endsWith("_sum"));
  expect(firstByte?.value).toBe(0.006);
});

test("a replica's faults and ejection are told by each router", () => {
  const board = busyBoard();
  const row = { replica: `${iris}-1`, epoch: 1, inFlight: 0, draining: false, ejected: true, faultsTotal: 7 };
  board.put("routerLoad", "router-0", aRouterLoad(1, [], { replicas: [row] }));
  const families = parseStrictly(renderExposition(regionMetrics(board, new Series(), [])));
  const labels = { endpoint: "iris", version: iris, replica: `${iris}-1`, router: "router-0" };
  expect(families.get(METRICS.replicaFaults)).toEqual([{ name: METRICS.replicaFaults, labels, value: 7 }]);
  expect(families.get(METRICS.replicaEjected)).toEqual([{ name: METRICS.replicaEjected, labels, value: 1 }]);
});

test("each router's memory is told", () => {
  const families = parseStrictly(renderExposition(regionMetrics(busyBoard(), new Series(), [])));
  const memory = families.get(METRICS.routerMemoryBytes)?.map(({ labels, value }) => [labels.router, value]);
  // 120 MiB, as the facts of the tests say.
  expect(memory).toEqual([
    ["router-0", 125_829_120],
    ["router-1", 125_829_120],
  ]);
});

test("any label text survives the format", () => {
  const nasty = 'a"b\\c\nd\\n';
  const text = renderExposition([
    { name: "x", help: "one\ntwo \\", type: "gauge", samples: [{ labels: { nasty }, value: 1e-9 }] },
  ]);
  expect(parseStrictly(text).get("x")).toEqual([{ name: "x", labels: { nasty }, value: 1e-9 }]);
});

test("an empty region still gives a text that reads", () => {
  expect(renderExposition(regionMetrics(new FakeBoard(), new Series(), []))).toBe("");
});

test("/metrics answers the text with its media type", async () => {
  const region = new FakeRegion();
  region.board.put("rollout", "iris", aRollout());
  region.counts = [{ controller: "autoscaler", reason: "hold: steady", count: 3 }];
  const api = createApi(region);
  const response = await api.app.request("/metrics");
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const families = parseStrictly(await response.text());
  expect(families.has(METRICS.readyReplicas)).toBe(true);
  expect(families.get(METRICS.decisions)?.map(({ labels, value }) => ({ ...labels, value }))).toEqual([
    { controller: "autoscaler", reason: "hold: steady", value: 3 },
  ]);
  api.close();
});
