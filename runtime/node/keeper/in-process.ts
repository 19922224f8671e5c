import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";
import { UserError } from "../../core/errors.ts";
import type { Address } from "../../domain/replica.ts";
import type { Log } from "../../ports/log.ts";
import type { InProcessRuntime, Probes } from "../../serving/contract.ts";
import { ReplicaCounters } from "../../serving/replica-counters.ts";
import { ReplicaServer } from "../../serving/replica-server.ts";
import { replicaPort } from "./replica-port.ts";

/** How often engines write their gauges: as often as the keeper reports. */
const GAUGES_MS = 1_000;

/** What the serving thread hands the keeper's thread at its start. */
export interface KeeperThreadData {
  readonly launch: ReplicaLaunch;
  readonly counters: SharedArrayBuffer;
  readonly classes: readonly string[];
  readonly probeSecret: string;
  readonly startedAtMs: number;
}

/** What the serving thread tells the keeper's thread later. */
export type ToKeeperThread =
  | { readonly kind: "listening"; readonly address: Address; readonly probes: Probes }
  | { readonly kind: "draining" };

/** What the keeper's thread says: that the replica can't be made ready, or that it has reported the drain. */
export type FromKeeperThread =
  | { readonly kind: "failed"; readonly code: `PENSTOCK_${string}`; readonly why: string; readonly todo: string }
  | { readonly kind: "drain-reported" };

/**
 * Runs an in-process engine as a replica: engine and HTTP server on this thread, the keeper on a thread of its own, so
 * that an engine that blocks this one can't stop its judge. Resolves when the replica has drained after SIGTERM; the process
 * must end then, since the keeper's thread goes on.
 * Errors: UserError where the model can't be loaded or fails in warm-up; Error where the keeper's thread has ended.
 */
export async function runInProcess(launch: ReplicaLaunch, runtime: InProcessRuntime, log: Log): Promise<void> {
  const counters = new ReplicaCounters(runtime.classes, () => performance.now());
  const probeSecret = randomBytes(16).toString("hex");
  const keeper = startKeeper({
    launch,
    counters: counters.shared,
    classes: runtime.classes,
    probeSecret,
    startedAtMs: performance.timeOrigin,
  });
  const tell = (message: ToKeeperThread): void => keeper.worker.postMessage(message);
  const stopAsked = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));

  const engine = await Promise.race([runtime.start({ launch, counters }), keeper.lost]);
  const server = new ReplicaServer({
    engine,
    counters,
    maxInFlight: launch.version.run.maxInFlight,
    probeSecret,
    onFault: (error) => log.error("REQUEST_FAILED", { why: error instanceof Error ? error.message : String(error) }),
  });
  tell({
    kind: "listening",
    address: await server.listen(launch.host, await replicaPort(launch)),
    probes: engine.probes,
  });
  const gauges = setInterval(() => engine.refreshGauges(), GAUGES_MS);

  await Promise.race([stopAsked, keeper.lost]);
  tell({ kind: "draining" });
  // An idle replica has drained at once: its last report must be out before the process ends.
  await Promise.all([server.drain(), Promise.race([keeper.drainReported, keeper.lost])]);
  clearInterval(gauges);
  await engine.close();
}

interface KeeperThread {
  readonly worker: Worker;
  readonly drainReported: Promise<void>;
  readonly lost: Promise<never>;
}

function startKeeper(data: KeeperThreadData): KeeperThread {
  const worker = new Worker(new URL("./in-process-thread.ts", import.meta.url), { workerData: data });
  const lost = new Promise<never>((_, reject) => {
    worker.on("message", (message: FromKeeperThread) => {
      if (message.kind === "failed") reject(new UserError(message.code, message.why, message.todo));
    });
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`the keeper's thread ended with ${code}`)));
  });
  // Seen by whoever races on it; between two races it must not count as unhandled.
  lost.catch(() => {});
  const drainReported = new Promise<void>((resolve) => {
    worker.on("message", ({ kind }: FromKeeperThread) => {
      if (kind === "drain-reported") resolve();
    });
  });
  return { worker, drainReported, lost };
}
