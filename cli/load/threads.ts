import { Worker } from "node:worker_threads";
import { LoadGenerator, type LoadPlan } from "./generator.ts";
import { STOP_GRACE_MS } from "./pace.ts";
import { mergeTallies, type Tally, type TallyCounts } from "./tally.ts";

/** A run under way. */
export interface LoadRun {
  readonly finished: Promise<Tally>;
  /** The counts so far, at most a second old. */
  soFar(): Tally;
  /** Sends nothing more; `finished` resolves soon. */
  stop(): void;
}

/** Runs a plan over `threads` threads; one thread runs here, without a worker. */
export function runLoad(plan: LoadPlan, threads: number): LoadRun {
  if (threads > 1) return runWorkers(plan, threads);
  const generator = new LoadGenerator(plan, { index: 0, count: 1 });
  return {
    finished: generator.run(),
    soFar: () => generator.tally,
    stop: () => generator.stop(STOP_GRACE_MS),
  };
}

function runWorkers(plan: LoadPlan, threads: number): LoadRun {
  const latest = new Map<number, TallyCounts>();
  const workers = Array.from({ length: threads }, (_, index) => {
    const worker = new Worker(new URL("./thread.ts", import.meta.url), {
      workerData: { plan, share: { index, count: threads } },
    });
    const ended = new Promise<void>((resolve, reject) => {
      worker.on("message", ({ counts }: { counts: TallyCounts }) => latest.set(index, counts));
      worker.on("error", reject);
      worker.on("exit", () => resolve());
    });
    return { worker, ended };
  });
  const soFar = (): Tally => mergeTallies([...latest.values()]);
  return {
    finished: Promise.all(workers.map(({ ended }) => ended)).then(soFar),
    soFar,
    stop: () => {
      for (const { worker } of workers) worker.postMessage("stop");
    },
  };
}
