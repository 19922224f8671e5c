import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../adapters/clock.ts";
import { createLog } from "../../adapters/log.ts";
import { systemRandom } from "../../adapters/random.ts";
import { assert } from "../../core/assert.ts";
import { UserError } from "../../core/errors.ts";
import { readCounts } from "../../serving/replica-counters.ts";
import { serveHealth } from "./health-server.ts";
import type { FromKeeperThread, KeeperThreadData, ToKeeperThread } from "./in-process.ts";
import { Keeper } from "./keeper.ts";
import { watchParent } from "./parent.ts";
import { ReportLink } from "./report-link.ts";

type Listening = Extract<ToKeeperThread, { kind: "listening" }>;

/** The keeper's thread of an in-process replica; it needs nothing of the serving thread but the shared counters. */
function main(data: KeeperThreadData): void {
  const { launch, classes, probeSecret, startedAtMs } = data;
  // Written past the serving thread, through which a worker's own stderr would go: it may be the one that is stuck.
  const log = createLog({ level: "info", human: false, write: (line) => void writeSync(2, line) }).with({
    replica: launch.id,
  });
  const link = new ReportLink(launch, { clock: systemClock, random: systemRandom, log });
  const endProcess = (): void => {
    process.kill(process.pid, "SIGKILL");
  };
  watchParent(endProcess);
  const keeper = new Keeper({
    launch,
    probeSecret,
    startedAtMs,
    log,
    report: (report) => link.report(report),
    kill: endProcess,
  });
  void serveHealth(() => keeper.latest, launch.host, log);
  const slots = [new Float64Array(data.counters)];
  const serving = parentPort;
  assert(serving !== null, "the keeper's thread is started by the serving thread");
  const say = (message: FromKeeperThread): void => serving.postMessage(message);
  const makeReady = async ({ address, probes }: Listening): Promise<void> => {
    try {
      await keeper.makeReady({
        address,
        probes,
        counted: true,
        counts: () => readCounts(slots, classes),
        rootPids: () => [],
      });
    } catch (error) {
      // Any other error ends this thread, and with it the replica.
      if (!(error instanceof UserError)) throw error;
      const { code, message: why, todo } = error;
      say({ kind: "failed", code: code as `PENSTOCK_${string}`, why, todo });
    }
  };
  serving.on("message", (message: ToKeeperThread) => {
    if (message.kind === "listening") void makeReady(message);
    else {
      keeper.drain();
      say({ kind: "drain-reported" });
    }
  });
}

main(workerData as KeeperThreadData);
