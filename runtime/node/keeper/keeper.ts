import { ENGINE_GAUGES } from "../../contract/names.ts";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";
import { asWallMs } from "../../core/time.ts";
import type { Address, ReplicaPhase, ReplicaReport } from "../../domain/replica.ts";
import type { Log } from "../../ports/log.ts";
import type { Probes } from "../../serving/contract.ts";
import type { ClassCounts, Counts } from "../../serving/replica-counters.ts";
import { Canaries } from "./canaries.ts";
import { decideLiveness, type JudgeMemory } from "./judge.ts";
import { beat } from "./parent.ts";
import { isFirstOfVersion } from "./plan.ts";
import { ProbeClient } from "./probe-client.ts";
import { ResourceSampler } from "./resources.ts";
import { probeConcurrency, type ServiceTimes, warmUp } from "./warm-up.ts";

/** A report and a look at the replica each second: DESIGN's pace of signals. */
const TICK_MS = 1_000;
/** The report `stuck` gets this long to leave before the kill: a unix socket takes it at once. */
const LAST_WORD_MS = 50;

/** A loaded engine as its keeper sees it, in this process or beside it. */
export interface KeptEngine {
  readonly address: Address;
  readonly probes: Probes;
  /** False where the engine counts nothing. */
  readonly counted: boolean;
  counts(): Counts;
  /** Processes of the engine; the keeper's own is added. */
  rootPids(): readonly number[];
}

/** What a keeper needs. */
export interface KeeperOptions {
  readonly launch: ReplicaLaunch;
  readonly probeSecret: string;
  /** Start of the process on the wall clock. */
  readonly startedAtMs: number;
  readonly log: Log;
  report(report: ReplicaReport): void;
  /** Ends a stuck replica at once, by force. */
  kill(): void;
}

/** Keeps one replica: leads it to readiness, reports each second, sends canaries, and ends it when it is stuck. */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #sampler: ResourceSampler;
  readonly #timer: NodeJS.Timeout;
  #phase: ReplicaPhase = "starting";
  #engine: KeptEngine | null = null;
  #canaries: Canaries | null = null;
  #serviceTimes: ServiceTimes = {};
  #startupMs: number | null = null;
  #probedConcurrency: number | null = null;
  #judgeMemory: JudgeMemory = {};
  #latest: ReplicaReport;
  #last: { readonly atMs: number; readonly cpuMsTotal: number } | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#sampler = new ResourceSampler(options.launch.version.run.memoryBytes);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#latest = this.#makeReport();
    this.#tick();
  }

  /** The last report, at most a second old. */
  get latest(): ReplicaReport {
    return this.#latest;
  }

  /**
   * The engine has loaded and listens: warms it up and reports it ready, then finds the knee of a version's first replica.
   * Errors: UserError where the model fails on its own input example.
   */
  async makeReady(engine: KeptEngine): Promise<void> {
    const { launch, probeSecret, startedAtMs, log } = this.#options;
    this.#engine = engine;
    this.#enter("warming");
    const client = new ProbeClient(engine.address, probeSecret);
    this.#serviceTimes = await warmUp(client, engine.probes.warmUps);
    if (this.#phase !== "warming") return;
    this.#canaries = new Canaries(client, engine.probes.canaries);
    this.#startupMs = performance.timeOrigin + performance.now() - startedAtMs;
    log.info("REPLICA_READY", {
      startupMs: Math.round(this.#startupMs),
      ...Object.fromEntries(
        Object.entries(this.#serviceTimes).map(([name, ms]) => [`${name}Ms`, Number(ms.toFixed(2))]),
      ),
    });
    this.#enter("ready");
    if (isFirstOfVersion(launch.id, launch.version.id)) await this.#probe(client, engine);
  }

  /** Looks for the knee while the replica serves: nobody waits for it, and it gives way to clients. */
  async #probe(client: ProbeClient, engine: KeptEngine): Promise<void> {
    const { launch, log } = this.#options;
    const [main] = engine.probes.warmUps;
    const serviceMs = main === undefined ? undefined : this.#serviceTimes[main.requestClass];
    if (main === undefined || serviceMs === undefined) return;
    const knee = await probeConcurrency(client, main, {
      serviceMs,
      limit: launch.version.run.maxInFlight,
      clientsInFlight: () => inFlightOf(engine.counts()),
      mayGoOn: () => this.#phase === "ready",
    });
    if (knee === null || this.#phase !== "ready") return;
    this.#probedConcurrency = knee;
    log.info("CONCURRENCY_PROBED", { probedConcurrency: knee });
    this.#report();
  }

  /** The replica takes no more work: says so, and judges no longer. */
  drain(): void {
    this.#enter("draining");
  }

  /** Requests in flight, as the engine counts them. */
  inFlight(): number {
    return this.#engine === null ? 0 : inFlightOf(this.#engine.counts());
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    beat(this.#phase === "ready" ? "ready" : "alive");
  }

  #enter(phase: ReplicaPhase): void {
    this.#phase = phase;
    this.#beat();
    this.#report();
  }

  #report(): void {
    this.#latest = this.#makeReport();
    this.#options.report(this.#latest);
  }

  #tick(): void {
    this.#beat();
    this.#report();
    const nowMs = performance.now();
    const cpuRatio = this.#cpuRatio(nowMs, this.#latest.resources.cpuMsTotal);
    const { phase, inFlight, progressTotal } = this.#latest;
    this.#options.log.debug("REPLICA_SEEN", { phase, inFlight, progressTotal, cpuRatio: Number(cpuRatio.toFixed(2)) });
    if (this.#phase === "ready") this.#judge(nowMs, cpuRatio);
  }

  #judge(nowMs: number, cpuRatio: number): void {
    const engine = this.#engine;
    const canaries = this.#canaries;
    if (engine === null || canaries === null) return;
    const classes = engine.counts().classes.map((counts) => ({
      ...counts,
      inFlight: counts.startedTotal - counts.finishedTotal,
      warmupServiceMs: this.#serviceTimes[counts.requestClass] ?? null,
      canarySinceMs: canaries.waitingSinceMs(counts.requestClass),
      canaryAnsweredAtMs: canaries.answeredAtMs(counts.requestClass),
    }));
    const judgement = decideLiveness({ classes, counted: engine.counted, cpuRatio }, this.#judgeMemory, nowMs);
    this.#judgeMemory = judgement.memory;
    for (const requestClass of judgement.canariesDue) {
      this.#options.log.debug("CANARY_SENT", { requestClass });
      canaries.send(requestClass);
    }
    if (judgement.stuck === null) return;
    this.#options.log.error("REPLICA_STUCK", judgement.stuck);
    this.#enter("stuck");
    setTimeout(() => this.#options.kill(), LAST_WORD_MS);
  }

  #cpuRatio(nowMs: number, cpuMsTotal: number): number {
    const last = this.#last;
    this.#last = { atMs: nowMs, cpuMsTotal };
    if (last === null || nowMs <= last.atMs) return 0;
    return (cpuMsTotal - last.cpuMsTotal) / (nowMs - last.atMs) / this.#options.launch.version.run.cpuCount;
  }

  #makeReport(): ReplicaReport {
    const { launch, startedAtMs } = this.#options;
    const engine = this.#engine;
    const counts = engine?.counted ? engine.counts() : null;
    const [mainClass] = engine?.probes.warmUps ?? [];
    return {
      id: launch.id,
      version: launch.version.id,
      epoch: launch.epoch,
      phase: this.#phase,
      address: engine?.address ?? null,
      startedAtMs: asWallMs(startedAtMs),
      startupMs: this.#startupMs,
      warmupServiceMs: mainClass === undefined ? null : (this.#serviceTimes[mainClass.requestClass] ?? null),
      probedConcurrency: this.#probedConcurrency,
      progressTotal: counts === null ? null : sumOf(counts, (row) => row.progressTotal),
      inFlight: counts === null ? null : inFlightOf(counts),
      resources: this.#sampler.sample([process.pid, ...(engine?.rootPids() ?? [])]),
      engine: counts === null ? {} : gaugesOf(counts),
    };
  }
}

function sumOf(counts: Counts, pick: (row: ClassCounts) => number): number {
  return counts.classes.reduce((sum, row) => sum + pick(row), 0);
}

function inFlightOf(counts: Counts): number {
  return sumOf(counts, (row) => row.startedTotal - row.finishedTotal);
}

/** What the engine knows, under the contract's names; what it does not is left out. */
function gaugesOf(counts: Counts): Record<string, number> {
  const { sequencesActive, sequencesWaiting, kvUseRatio, tokensTotal, batchesTotal, batchRowsTotal } = counts;
  const batchSizeMean = batchesTotal ? (batchRowsTotal ?? 0) / batchesTotal : null;
  const gauges = { sequencesActive, sequencesWaiting, kvUseRatio, tokensTotal, batchSizeMean };
  return Object.fromEntries(
    Object.entries(gauges).flatMap(([name, value]) =>
      value === null ? [] : [[ENGINE_GAUGES[name as keyof typeof gauges], value]],
    ),
  );
}
