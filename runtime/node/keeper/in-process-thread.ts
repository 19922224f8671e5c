import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../adapters/clock.ts";
import { createLog } from "../../adapters/log.ts";
import { systemRandom } from "../../adapters/random.ts";
import { assert } from "../../core/assert.ts";
import { readCounts } from "../../serving/replica-counters.ts";
import type { KeeperThreadData, ToKeeperThread } from "./in-process.ts";
import { Keeper } from "./keeper.ts";
import { watchParent } from "./parent.ts";
import { ReportLink } from "./report-link.ts";

/** The keeper's thread of an in-process replica; it needs nothing of the serving thread but the shared counters. */
function main(data: KeeperThreadData): void {
  const { launch, classes, probeSecret, startedAtMs } = data;
  const log = createLog({ level: "info", human: false }).with({ replica: launch.id });
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
  const slots = [new Float64Array(data.counters)];
  assert(parentPort !== null, "the keeper's thread is started by the serving thread");
  parentPort.on("message", (message: ToKeeperThread) => {
    if (message.kind === "draining") keeper.drain();
    else {
      const { address, probes } = message;
      // A failure ends this thread with its error, and with it the replica.
      void keeper.makeReady({
        address,
        probes,
        counted: true,
        counts: () => readCounts(slots, classes),
        rootPids: () => [],
      });
    }
  });
}

main(workerData as KeeperThreadData);
