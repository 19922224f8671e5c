/**
 * What the controllers cost at size: 1,000 endpoints, and 10 to 10,000 replicas over them. Virtual time; the replicas,
 * their keepers and the router are modelled, the control of a region is the real one. A round is one second of a running
 * region: each keeper and the router report once, and all that is due is decided. A change is one replica that stops being
 * ready or is again, with the quarter of a second after which the router has been told.
 */
import { assemble, type RegionControl } from "../../runtime/control/assemble.ts";
import { REGION_KEY } from "../../runtime/domain/board.ts";
import { emptyLatencyBuckets } from "../../runtime/domain/load.ts";
import type { ReplicaReport, ReplicaSet } from "../../runtime/domain/replica.ts";
import type { ReplicaHost, ReplicaHostObserver } from "../../runtime/ports/replica-host.ts";
import type { DecisionLog } from "../../runtime/ports/stores.ts";
import { VirtualClock } from "../../runtime/simulator/virtual-clock.ts";
import { MemoryKeptStore, MemorySpecStore } from "../support/memory-stores.ts";
import { preparedOf, specOf } from "../support/specs.ts";
import { strictLog } from "../support/strict-log.ts";
import { report, step } from "./support/report.ts";

const ENDPOINTS = 1_000;
const SIZES = [10, 100, 1_000, 10_000];
const ROUNDS = 3;
/** Changes of one replica, each sent before the next. */
const CHANGES = 20;
const SEND_GAP_MS = 260;
/** Time in which every endpoint has its replicas, and first decisions are over. */
const SETTLE_MS = 30_000;
const EMPTY_BUCKETS = emptyLatencyBuckets();

/** Writing the log is the store's cost and not the controllers'. */
const decisions: DecisionLog = { append: () => 0, list: () => [], get: () => null };

/** A host on which each replica is ready at once. */
class ReadyHost implements ReplicaHost {
  readonly reports = new Map<string, ReplicaReport>();
  readonly #clock: VirtualClock;
  #observer: ReplicaHostObserver | null = null;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  apply({ version, replicas }: ReplicaSet): void {
    for (const { id } of replicas) {
      if (this.reports.has(id)) continue;
      this.reports.set(id, reportOf(id, version.id));
      this.#clock.after(0, () => {
        const base = { id, version: version.id, epoch: 1, state: "running" as const };
        this.#observer?.hosted({ ...base, pid: null, failedStarts: 0, lastExit: null, lastLog: [] });
        this.tell(id, {});
      });
    }
  }

  remove(): void {}

  watch(observer: ReplicaHostObserver): () => void {
    this.#observer = observer;
    const memoryBytes = 2 ** 52;
    observer.machine("big", { cpuCount: 1e6, memoryBytes, memoryAvailableBytes: memoryBytes, bootId: "bench" });
    return () => {};
  }

  /** A keeper's next report, with this in it. */
  tell(id: string, change: Partial<ReplicaReport>): void {
    const before = this.reports.get(id)!;
    const resources = { ...before.resources, cpuMsTotal: before.resources.cpuMsTotal + 1 };
    const next = { ...before, resources, ...change };
    this.reports.set(id, next);
    this.#observer?.replica(next);
  }
}

function reportOf(id: string, version: string): ReplicaReport {
  return {
    id,
    version,
    epoch: 1,
    phase: "ready",
    address: { host: "10.0.0.1", port: 8_000 },
    startedAtMs: 0 as ReplicaReport["startedAtMs"],
    startupMs: 1_000,
    warmupServiceMs: 100,
    probedConcurrency: null,
    progressTotal: 0,
    inFlight: 0,
    resources: { cpuMsTotal: 0, throttledMsTotal: 0, residentBytes: 1e8, memoryLimitBytes: null },
    engine: {},
  };
}

/** A router's report of everything, with one more request answered by each version. */
function tellLoad(control: RegionControl, host: ReadyHost, seq: number, nowMs: number): void {
  const versions = control.board.keys("rollout").flatMap((endpoint) => {
    const rollout = control.board.get("rollout", endpoint);
    const id = rollout.kind === "known" ? rollout.value.versions[0]!.version.id : "";
    const counts = { arrivals: seq, completed: seq, inFlightMsTotal: seq * 100, serviceMsTotal: seq * 100 };
    const none = { failed: 0, turnedAwayForCapacity: 0, clientGone: 0, retries: 0, inFlight: 0, queued: 0 };
    const times = { serviceMsBuckets: EMPTY_BUCKETS, firstByteMsBuckets: EMPTY_BUCKETS, firstByteMsTotal: 0 };
    return [{ version: id, endpoint, ...counts, ...none, queuedMsTotal: 0, ...times }];
  });
  const snapshot = control.board.get("snapshot", REGION_KEY);
  control.routerLoad({
    router: "router",
    epoch: 1,
    seq,
    routerMonoMs: nowMs,
    snapshotGeneration: snapshot.kind === "known" ? snapshot.value.generation : null,
    memoryBytes: null,
    versions,
    replicas: [...host.reports.keys()].map((replica) => ({
      replica,
      epoch: 1,
      inFlight: 0,
      draining: false,
      ejected: false,
      faultsTotal: 0,
    })),
  });
}

function cpuMs(work: () => void): number {
  const start = process.threadCpuUsage();
  work();
  const used = process.threadCpuUsage(start);
  return (used.user + used.system) / 1_000;
}

function measure(replicas: number): Record<string, number> {
  const clock = new VirtualClock();
  const host = new ReadyHost(clock);
  let sentBytes = 0;
  const control = assemble({
    clock,
    log: strictLog,
    specs: new MemorySpecStore(),
    kept: new MemoryKeptStore(),
    decisions,
    host,
    routers: {
      send: (_router, message) => {
        sentBytes += JSON.stringify(message).length;
        return true;
      },
    },
  });
  control.apiKeys.set(REGION_KEY, { required: false, keys: [] });
  for (let index = 0; index < ENDPOINTS; index++) {
    const share = Math.floor(((index + 1) * replicas) / ENDPOINTS) - Math.floor((index * replicas) / ENDPOINTS);
    const base = specOf(`e${index}`, { concurrency: { min: share, max: share }, sleepAfterMs: 1_000 });
    const spec = { ...base, run: { ...base.run, maxInFlight: 1 } };
    control.spec.set(spec.name, spec);
    // An endpoint without a replica is one whose model is still being prepared.
    if (share > 0) control.prepared.set(spec.name, preparedOf(spec));
  }
  control.start();
  control.routerConnected("router", null);
  let seq = 0;
  const settleMs = cpuMs(() => {
    for (let second = 0; second < SETTLE_MS / 1_000; second++) {
      clock.runUntil(clock.monoMs() + 1_000);
      tellLoad(control, host, ++seq, clock.monoMs());
    }
  });
  const fullBytes = sentBytes;
  const roundsMs = cpuMs(() => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const id of host.reports.keys()) host.tell(id, {});
      tellLoad(control, host, ++seq, clock.monoMs());
      clock.runUntil(clock.monoMs() + 1_000);
    }
  });
  sentBytes = 0;
  const [first] = host.reports.keys();
  const changesMs = cpuMs(() => {
    for (let change = 0; change < CHANGES; change++) {
      host.tell(first!, { phase: change % 2 === 0 ? "stuck" : "ready" });
      clock.runUntil(clock.monoMs() + SEND_GAP_MS);
    }
  });
  const running = host.reports.size;
  control.stop();
  return {
    running,
    settleMs,
    roundMs: roundsMs / ROUNDS,
    changeMs: changesMs / CHANGES,
    fullBytes,
    diffBytes: sentBytes / CHANGES,
  };
}

const figures: Record<string, number> = {};
for (const replicas of SIZES.filter((size) => size <= Number(process.argv[2] ?? Number.POSITIVE_INFINITY))) {
  step(`${replicas} replicas over ${ENDPOINTS} endpoints`);
  for (const [name, value] of Object.entries(measure(replicas))) figures[`${name}_r${replicas}`] = value;
}
report("controllers", figures, ["CPU milliseconds of one core; bytes are JSON sent to one router"]);
