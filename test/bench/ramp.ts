// bench:ramp: one endpoint of real replica processes; load steps from 10 to 10,000 requests per second. How long until the
// ready replicas match demand and p99 is under 100 ms, and how many requests fail. Arguments: peak QPS, seconds after the
// step, model: `iris` (the ONNX example: real inference) or `accelerator` (support/accelerator.ts: one process gives 4,000
// per second whatever its CPU, so that the region must start several).
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { TestRegion } from "../e2e/region.ts";
import { IRIS_MODEL, irisPlan } from "./support/iris.ts";
import { CpuByKind } from "./support/processes.ts";
import { loadText, progress, report, step } from "./support/report.ts";
import { type Point, runTimeline } from "./support/timeline.ts";
import { timelineSvg } from "./support/timeline-svg.ts";

const PEAK_RPS = Number(process.argv[2] ?? 10_000);
const SECONDS = Number(process.argv[3] ?? 60);
const MODEL = process.argv[4] ?? "iris";
const BEFORE_MS = 10_000;
const LOOK_MS = 500;
/** What counts as steady, and for how long it must stay so. */
const P99_MS = 100;
const HOLDS_MS = 10_000;

const ACCELERATOR = join(import.meta.dirname, "support/accelerator.ts");
const models: Readonly<Record<string, object>> = {
  accelerator: {
    run: { command: [process.execPath, ACCELERATOR], cpuCount: 0.25 },
    idempotent: true,
    concurrency: { min: 1, max: 256 },
  },
  iris: { model: IRIS_MODEL, run: { cpuCount: 0.25 }, concurrency: { min: 1, max: 64 } },
};

if (!(PEAK_RPS > 0) || !(SECONDS > 0) || models[MODEL] === undefined) {
  console.error(`usage: npm run bench:ramp [-- PEAK_QPS SECONDS ${Object.keys(models).join("|")}]`);
  process.exit(2);
}

/** Milliseconds from the step to the first look from which all were steady for HOLDS_MS; null where that never was. */
function steadyAfterMs(points: readonly Point[]): number | null {
  const after = points.filter((point) => point.atMs > BEFORE_MS);
  const isSteady = ({ ready, wanted, p99Ms }: Point): boolean =>
    ready !== null && wanted !== null && ready >= wanted && p99Ms !== null && p99Ms < P99_MS;
  for (const [index, first] of after.entries()) {
    const held = after.slice(index).filter((point) => point.atMs <= first.atMs + HOLDS_MS);
    const isLongEnough = (after.at(-1)?.atMs ?? 0) >= first.atMs + HOLDS_MS;
    if (isLongEnough && held.every(isSteady)) return first.atMs - BEFORE_MS;
  }
  return null;
}

step(`starting a region (${loadText()})`);
const region = await TestRegion.start({
  file: {
    region: "bench",
    endpoints: [
      {
        name: "ramp",
        ...models[MODEL],
        // While replicas start, what the first one can't take waits instead of being turned away.
        queue: { maxRequests: 500_000 },
      },
    ],
  },
});
try {
  const cpu = new CpuByKind(region);
  const ownCpu = process.cpuUsage();
  const profile = [
    { fromRps: 10, toRps: 10, durationMs: BEFORE_MS },
    { fromRps: PEAK_RPS, toRps: PEAK_RPS, durationMs: SECONDS * 1_000 },
  ];
  step(`10 requests per second for ${BEFORE_MS / 1_000} s, then ${PEAK_RPS} for ${SECONDS} s`);
  const { tally, points } = await runTimeline(region, "ramp", irisPlan(region, profile, "ramp"), LOOK_MS, (point) => {
    cpu.sample();
    const p99 = point.p99Ms === null ? "-" : `${point.p99Ms.toFixed(1)} ms`;
    progress(
      `${(point.atMs / 1_000).toFixed(0).padStart(3)} s  ${point.sentRps.toFixed(0)}/s sent  ${point.goodRps.toFixed(0)}/s answered  p99 ${p99}  ${point.ready}/${point.wanted} replicas  ${point.failed} failed`,
    );
  });
  const generator = process.cpuUsage(ownCpu);
  const steadyMs = steadyAfterMs(points);
  const results = join(import.meta.dirname, "../../bench-results");
  mkdirSync(results, { recursive: true });
  const picture = join(results, "ramp.svg");
  const marks = [
    { atMs: BEFORE_MS, label: `step to ${PEAK_RPS}/s` },
    ...(steadyMs === null
      ? []
      : [{ atMs: BEFORE_MS + steadyMs, label: `steady after ${(steadyMs / 1_000).toFixed(1)} s` }]),
  ];
  writeFileSync(picture, timelineSvg(`A step from 10 to ${PEAK_RPS} requests per second`, points, marks));
  const settled = points.slice(-Math.round(HOLDS_MS / LOOK_MS));
  report(
    "ramp",
    {
      // A run that never became steady says so with the whole of its length.
      secondsToSteady: (steadyMs ?? SECONDS * 1_000) / 1_000,
      failedRequests: tally.failed,
      peakQps: Math.max(...points.map((point) => point.goodRps)),
      sentRequests: tally.sent,
      replicas: Math.max(...points.map((point) => point.ready ?? 0)),
      p99MsAtEnd: Math.max(...settled.map((point) => point.p99Ms ?? 0)),
      routerCpuUsPerRequest: (cpu.usedMs("router") * 1_000) / tally.sent,
      replicaCpuUsPerRequest: (cpu.usedMs("replicas") * 1_000) / tally.sent,
      controllerCpuUsPerRequest: (cpu.usedMs("controller") * 1_000) / tally.sent,
      agentCpuUsPerRequest: (cpu.usedMs("agent") * 1_000) / tally.sent,
      generatorCpuUsPerRequest: (generator.user + generator.system) / tally.sent,
    },
    [
      ...(steadyMs === null ? ["never steady: secondsToSteady is the length of the run"] : []),
      ...Object.entries(Object.fromEntries(tally.errors)).map(([kind, count]) => `${count} x ${kind}`),
      `time line: ${relative(process.cwd(), picture)}`,
    ],
  );
} finally {
  await region.stop();
  await region.end();
}
