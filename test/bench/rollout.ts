// bench:rollout: an open-loop stream of 1,000 requests per second while a changed model is deployed and then rolled back.
// No request may fail. Arguments: QPS, seconds (at least 60 for the 60,000 requests that the figure is about).
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder, TestRegion } from "../e2e/region.ts";
import { IRIS_MODEL, irisPlan, writeChangedIris } from "./support/iris.ts";
import { loadText, progress, report, step } from "./support/report.ts";
import { runTimeline } from "./support/timeline.ts";

const RPS = Number(process.argv[2] ?? 1_000);
const SECONDS = Number(process.argv[3] ?? 66);
const LOOK_MS = 1_000;

/** The version that gets all traffic, once that is so. */
async function whenAllTraffic(version: (id: string) => boolean): Promise<string> {
  const view = await region.whenEndpoint("iris", "has moved its traffic", ({ versions }) =>
    versions.some(({ id, weight }) => weight === 100 && version(id)),
  );
  return view.versions.find(({ weight }) => weight === 100)?.id ?? "";
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await action();
  return (performance.now() - startedAtMs) / 1_000;
}

step(`starting a region (${loadText()})`);
const folder = scratchFolder();
const changed = join(folder, "iris.onnx");
writeChangedIris(changed, "a second version");
const region = await TestRegion.start({ file: { region: "bench", endpoints: [] } });
try {
  await region.penstockJson("deploy", IRIS_MODEL, "--name", "iris", "--min", "1", "--max", "64");
  const first = await whenAllTraffic(() => true);
  step(`${RPS} requests per second for ${SECONDS} s`);
  const load = runTimeline(
    region,
    "iris",
    irisPlan(region, [{ fromRps: RPS, toRps: RPS, durationMs: SECONDS * 1_000 }]),
    LOOK_MS,
    ({ atMs, sentRps, goodRps, failed, p99Ms }) =>
      progress(
        `${(atMs / 1_000).toFixed(0)} s  ${sentRps.toFixed(0)}/s sent  ${goodRps.toFixed(0)}/s answered  p99 ${p99Ms?.toFixed(1) ?? "-"} ms  ${failed} failed`,
      ),
  );
  // A third of the run each: before, with the new version, and back.
  await sleep((SECONDS * 1_000) / 3);
  step("deploying the changed model");
  const deploySeconds = await timed(() => region.penstockJson("deploy", changed, "--name", "iris"));
  const second = await whenAllTraffic((id) => id !== first);
  await sleep((SECONDS * 1_000) / 3);
  step("rolling back");
  const rollbackSeconds = await timed(async () => {
    await region.penstockJson("rollback", "iris");
    await whenAllTraffic((id) => id === first);
  });
  const { tally, points } = await load;
  report(
    "rollout",
    {
      failedRequests: tally.failed,
      sentRequests: tally.sent,
      deploySeconds,
      rollbackSeconds,
      p50Ms: tally.latency.quantileMs(0.5) ?? 0,
      p99Ms: tally.latency.quantileMs(0.99) ?? 0,
      worstSecondP99Ms: Math.max(...points.map((point) => point.p99Ms ?? 0)),
    },
    [`${first} -> ${second} -> ${first}`, ...[...tally.errors].map(([kind, count]) => `${count} x ${kind}`)],
  );
} finally {
  await region.stop();
  await region.end();
}
