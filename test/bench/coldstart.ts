// bench:coldstart: 100 requests that each wake a sleeping ONNX endpoint: how many fail, and how long each one waits.
// Several endpoints take turns, so that one is woken while the others fall asleep; only one wakes at a time.
import { setTimeout as sleep } from "node:timers/promises";
import { LogHistogram } from "../../cli/load/log-histogram.ts";
import { TestRegion, until } from "../e2e/region.ts";
import { IRIS_MODEL } from "./support/iris.ts";
import { loadText, progress, report, step } from "./support/report.ts";

const WAKES = Number(process.argv[2] ?? 100);
const ENDPOINTS = 4;
/** Least of what a spec may say: the bench waits for sleep, not users. */
const SLEEP_AFTER_MS = 1_000;
/** After a wake the machine comes to rest before the next one. */
const PAUSE_MS = 250;

const names = Array.from({ length: ENDPOINTS }, (_, index) => `iris-${index + 1}`);

async function isAsleep(name: string): Promise<boolean> {
  const { scale } = await region.endpoint(name);
  return scale.existing === 0 && scale.wanted === 0;
}

step(`starting a region (${loadText()})`);
const region = await TestRegion.start({
  file: {
    region: "bench",
    endpoints: names.map((name) => ({
      name,
      model: IRIS_MODEL,
      concurrency: { min: 0, max: 64 },
      sleepAfterMs: SLEEP_AFTER_MS,
    })),
  },
});
try {
  const waits = new LogHistogram();
  const errors = new Map<string, number>();
  step(`${WAKES} wake-ups of ${ENDPOINTS} endpoints in turn`);
  for (let wake = 0; wake < WAKES; wake++) {
    const name = names[wake % ENDPOINTS] ?? "";
    await until(`${name} sleeps`, () => isAsleep(name));
    await sleep(PAUSE_MS);
    const startedAtMs = performance.now();
    const outcome = await region
      .post(`/serving-endpoints/${name}/invocations`, { inputs: [[5.1, 3.5, 1.4, 0.2]] })
      .then(({ status, text }) => (status === 200 ? null : `${status} ${text}`))
      .catch((error: Error) => error.message);
    if (outcome === null) waits.record(performance.now() - startedAtMs);
    else errors.set(outcome, (errors.get(outcome) ?? 0) + 1);
    progress(
      `${wake + 1} of ${WAKES}  p50 ${waits.quantileMs(0.5)?.toFixed(0)} ms  p99 ${waits.quantileMs(0.99)?.toFixed(0)} ms  ${[...errors.values()].length} kinds of errors`,
    );
  }
  report(
    "coldstart",
    {
      errors: [...errors.values()].reduce((sum, count) => sum + count, 0),
      wakes: WAKES,
      p50Ms: waits.quantileMs(0.5) ?? 0,
      p99Ms: waits.quantileMs(0.99) ?? 0,
      maxMs: waits.maxMs ?? 0,
    },
    [...errors].map(([what, count]) => `${count} x ${what}`),
  );
} finally {
  await region.stop();
  await region.end();
}
