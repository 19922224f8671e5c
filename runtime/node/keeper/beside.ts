import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { get } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../adapters/clock.ts";
import type { LeveledLog } from "../../adapters/log.ts";
import { systemRandom } from "../../adapters/random.ts";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";

import type { ChildContext, RunningEngine, StartChildEngine } from "../../serving/contract.ts";
import { COUNTERS_BYTES, readCounts } from "../../serving/replica-counters.ts";
import { serveHealth } from "./health-server.ts";
import { Keeper } from "./keeper.ts";
import { watchParent } from "./parent.ts";
import { killTree } from "./process-tree.ts";
import { replicaPort } from "./replica-port.ts";
import { ReportLink } from "./report-link.ts";

const READY_POLL_MS = 50;
/** An answer to the question whether it is ready may take this long; then it is asked again. */
const READY_TIMEOUT_MS = 5_000;
const DRAIN_POLL_MS = 50;

/**
 * Runs an engine in processes beside this one as a replica, and keeps it. Resolves when it has drained after SIGTERM.
 * Errors: UserError where it can't be started; Error where its process ended by itself.
 */
export async function runBeside(
  launch: ReplicaLaunch,
  start: StartChildEngine,
  environment: ChildContext["environment"],
  log: LeveledLog,
): Promise<void> {
  const probeSecret = randomBytes(16).toString("hex");
  const link = new ReportLink(launch, { clock: systemClock, random: systemRandom, log });
  let engine: RunningEngine | null = null;
  const killEngine = (): void => {
    engine?.kill("SIGKILL");
    killTree([process.pid], "SIGKILL");
  };
  watchParent(killEngine);
  const keeper = new Keeper({
    launch,
    probeSecret,
    startedAtMs: performance.timeOrigin,
    log,
    report: (report) => link.report(report),
    kill: killEngine,
  });
  await serveHealth(() => keeper.latest, launch.host, log);
  const stopAsked = new Promise<"stop">((resolve) => process.once("SIGTERM", () => resolve("stop")));
  const scratchDir = join(launch.dataDir, "run", "replicas", launch.id);
  await rm(scratchDir, { recursive: true, force: true });
  await mkdir(scratchDir, { recursive: true });
  const started = await start({
    launch,
    environment,
    scratchDir,
    probeSecret,
    port: await replicaPort(launch),
    log: (line) => process.stdout.write(`${line}\n`),
  });
  engine = started;
  const ended = started.exited.then(({ code, signal }) => {
    throw new Error(`the engine ended by itself with ${signal ?? `exit code ${code}`}`);
  });
  ended.catch(() => {});
  const served = serve(started, keeper).then(() => stopAsked);
  try {
    await Promise.race([served, stopAsked, ended]);
    keeper.drain();
    await drain(started, keeper);
  } finally {
    started.kill("SIGKILL");
    keeper.close();
    await rm(scratchDir, { recursive: true, force: true });
  }
}

async function serve(engine: RunningEngine, keeper: Keeper): Promise<void> {
  while (!(await isLoaded(engine))) await sleep(READY_POLL_MS);
  await keeper.makeReady({
    address: engine.address,
    probes: engine.probes,
    counted: engine.countersFiles.length > 0,
    counts: () => readCounts(engine.countersFiles.map(readSlots), engine.classes),
    rootPids: () => engine.rootPids(),
  });
}

/** Waits for what is in flight, then lets the engine end by itself; the agent ends what takes too long. */
async function drain(engine: RunningEngine, keeper: Keeper): Promise<void> {
  while (keeper.inFlight() > 0) await sleep(DRAIN_POLL_MS);
  engine.kill("SIGTERM");
  if (engine.rootPids().length > 0) await engine.exited;
}

function isLoaded({ address, readiness }: RunningEngine): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ ...address, path: readiness.path, agent: false, timeout: READY_TIMEOUT_MS }, (response) => {
      response.resume();
      resolve((response.statusCode ?? Number.POSITIVE_INFINITY) < readiness.statusBelow);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });
}

/** A worker's counters; empty while it has not made its file. */
function readSlots(path: string): Float64Array {
  try {
    const bytes = readFileSync(path);
    const slots = new Float64Array(COUNTERS_BYTES / 8);
    bytes.copy(new Uint8Array(slots.buffer), 0, 0, COUNTERS_BYTES);
    return slots;
  } catch {
    return new Float64Array(0);
  }
}
