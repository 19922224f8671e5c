import { parentPort, workerData } from "node:worker_threads";
import { LoadGenerator, type LoadPlan } from "./generator.ts";
import { REPORT_MS, STOP_GRACE_MS } from "./pace.ts";
import type { Share } from "./schedule.ts";

// A worker thread of `penstock load`: sends its share, reports its counts each second and at the end.
const { plan, share } = workerData as { plan: LoadPlan; share: Share };
const generator = new LoadGenerator(plan, share);
const report = (done: boolean): void => parentPort?.postMessage({ done, counts: generator.tally.counts() });
const timer = setInterval(() => report(false), REPORT_MS);
parentPort?.on("message", () => generator.stop(STOP_GRACE_MS));
await generator.run();
clearInterval(timer);
report(true);
parentPort?.close();
