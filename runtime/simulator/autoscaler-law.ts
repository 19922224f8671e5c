import { autoscaler } from "../control/autoscaler/autoscaler.ts";
import { computeHardCap } from "../control/publisher/decide.ts";
import type { Known } from "../core/known.ts";
import { missing } from "../core/known.ts";
import { asMonoMs, asWallMs } from "../core/time.ts";
import type { BoardView, FactName, Facts } from "../domain/board.ts";
import type { EndpointSpec } from "../domain/endpoint.ts";
import type { RouterLoad, VersionLoad } from "../domain/load.ts";
import { emptyLatencyBuckets } from "../domain/load.ts";
import type { Machine, ReplicaReport } from "../domain/replica.ts";
import type { RolledVersion } from "../domain/rollout.ts";
import type { Version } from "../domain/version.ts";
import type { ModelReplica } from "./model-fleet.ts";
import type { LabLaw, LabView } from "./scaling-lab.ts";
import type { ServiceModel } from "./service-model.ts";

const ENDPOINT = "lab";
const VERSION = "lab-0000000000";
/** A host that has told what runs; its size bounds nothing in the lab. */
const HOST: Machine = { cpuCount: 1, memoryBytes: 2 ** 30, memoryAvailableBytes: 2 ** 30, bootId: "lab" };
const EMPTY_BUCKETS = emptyLatencyBuckets();

/** What a run does to the autoscaler beside load. */
export interface AutoscalerLabOptions {
  readonly concurrency: { readonly min: number; readonly max: number };
  readonly service: ServiceModel;
  readonly maxInFlight?: number;
  /** Target to start from, as a predecessor's would be; null = the default with doubling. */
  readonly startTarget: number | null;
  /** The learned target stays where it started. */
  readonly frozenTarget?: boolean;
  /** Reports that never arrive, by their time. */
  readonly reportLost?: (atMs: number) => boolean;
  /** Times at which the controller restarts with only what is kept. */
  readonly restartsAtMs?: readonly number[];
  readonly keepersSilent?: (atMs: number) => boolean;
}

/** The very autoscaler as a law of the lab, with what it said. */
export interface AutoscalerLaw extends LabLaw {
  readonly targets: readonly { readonly atMs: number; readonly target: number; readonly learned: string }[];
  target(): number;
}

/** Runs the very autoscaler in the lab: the fleet's state becomes a Board, its verdict the fleet's size. */
export function autoscalerLaw(options: AutoscalerLabOptions): AutoscalerLaw {
  let memory = autoscaler.init(null);
  let kept = autoscaler.keep(memory);
  let seq = 0;
  let load: RouterLoad | null = null;
  let target = options.startTarget ?? 4;
  const restarts = [...(options.restartsAtMs ?? [])];
  const targets: { atMs: number; target: number; learned: string }[] = [];
  return {
    name: "penstock",
    // The driver decides a version again at each report of its routers, once a second.
    everyMs: 1_000,
    wakes: true,
    targets,
    target: () => target,
    hardCap: () => options.maxInFlight ?? computeHardCap(target, null),
    sample: (view) => {
      chargeCpu(view);
      if (!options.reportLost?.(view.nowMs)) load = routerLoad(view, ++seq);
    },
    decide: (view) => {
      if (restarts[0] !== undefined && view.nowMs >= restarts[0]) {
        restarts.shift();
        memory = autoscaler.init(structuredClone(kept));
      }
      const board = boardOf(view, options, load);
      const now = { mono: asMonoMs(view.nowMs), wall: asWallMs(view.nowMs) };
      const verdict = autoscaler.decide(autoscaler.observe(board, VERSION), memory, now);
      memory = verdict.memory;
      if (options.frozenTarget) memory = { ...memory, learning: { ...memory.learning, cycleAtMs: null } };
      kept = autoscaler.keep(memory);
      target = verdict.output?.targetConcurrency ?? target;
      targets.push({ atMs: view.nowMs, target, learned: String(verdict.because.inputs.learned) });
      return { replicas: verdict.output?.replicas ?? 0, reason: verdict.because.reason };
    },
  };
}

function chargeCpu(view: LabView): void {
  for (const replica of view.fleet.replicas) replica.cpuMsTotal = view.load.cpuMsPerReplica;
}

function routerLoad(view: LabView, seq: number): RouterLoad {
  const { load, nowMs } = view;
  const row: VersionLoad = {
    version: VERSION,
    endpoint: ENDPOINT,
    arrivals: load.arrivals,
    completed: load.completed,
    failed: 0,
    turnedAwayForCapacity: load.turnedAway,
    clientGone: 0,
    retries: 0,
    inFlight: load.inFlight,
    queued: load.queued,
    inFlightMsTotal: load.inFlightMsTotal,
    queuedMsTotal: load.queuedMsTotal,
    serviceMsBuckets: EMPTY_BUCKETS,
    firstByteMsBuckets: EMPTY_BUCKETS,
    serviceMsTotal: load.serviceMsTotal,
    firstByteMsTotal: 0,
  };
  return {
    router: "router-0",
    epoch: 1,
    seq,
    routerMonoMs: nowMs,
    receivedAtMs: asMonoMs(nowMs),
    snapshotGeneration: { incarnation: 1, number: 1 },
    memoryBytes: null,
    versions: [row],
    replicas: [],
  };
}

function boardOf(view: LabView, options: AutoscalerLabOptions, load: RouterLoad | null): BoardView {
  const version = labVersion(options);
  const reports = new Map(view.fleet.replicas.map((replica) => [replica.id, reportOf(replica, view, options)]));
  const facts: Partial<{ readonly [F in FactName]: ReadonlyMap<string, Facts[F]> }> = {
    rollout: new Map([
      [ENDPOINT, { endpoint: ENDPOINT, versions: rolled(version, options), updatedAtMs: asWallMs(0) }],
    ]),
    spec: new Map([[ENDPOINT, { concurrency: options.concurrency, sleepAfterMs: 120_000 } as EndpointSpec]]),
    routerLoad: load === null ? new Map() : new Map([["router-0", load]]),
    replicaSet: new Map([
      [VERSION, { version, replicas: view.fleet.replicas.map((replica) => ({ id: replica.id, draining: false })) }],
    ]),
    replica: reports,
    machine: new Map([["lab", HOST]]),
    wanted:
      options.startTarget === null
        ? new Map()
        : new Map([
            ["lab-1111111111", { version: "lab-1111111111", replicas: 0, targetConcurrency: options.startTarget }],
          ]),
  };
  const silent = options.keepersSilent?.(view.nowMs) ?? false;
  return {
    get: <F extends FactName>(fact: F, key: string): Known<Facts[F]> => {
      const value = (facts[fact] as ReadonlyMap<string, Facts[F]> | undefined)?.get(key);
      if (value === undefined) return missing("not in the lab");
      const ageMs = fact === "replica" && silent ? 60_000 : 0;
      return { kind: "known", value, atMs: asMonoMs(view.nowMs - ageMs), generation: 1 };
    },
    keys: (fact) => [...(facts[fact]?.keys() ?? [])],
    // The lab has the one version.
    replicasOf: (fact) => [...(facts[fact]?.keys() ?? [])],
  };
}

function labVersion(options: AutoscalerLabOptions): Version {
  return {
    id: VERSION,
    endpoint: ENDPOINT,
    runtime: "custom",
    artifact: { source: "lab", digest: "0", path: "/", sizeBytes: 0 },
    environmentHash: null,
    run: {
      cpuCount: options.service.cpuCount,
      memoryBytes: null,
      env: {},
      command: null,
      url: null,
      readyPath: null,
      contextTokens: null,
      maxInFlight: options.maxInFlight ?? null,
    },
    createdAtMs: asWallMs(0),
  };
}

function rolled(version: Version, options: AutoscalerLabOptions): RolledVersion[] {
  const serving: RolledVersion = {
    version,
    phase: "serving",
    weight: 100,
    sizedForWeight: 100,
    sinceMs: asMonoMs(0),
    giveUpAtMs: null,
    failure: null,
  };
  if (options.startTarget === null) return [serving];
  const kept: RolledVersion = {
    ...serving,
    version: { ...version, id: "lab-1111111111" },
    phase: "kept",
    weight: 0,
    sizedForWeight: 0,
  };
  return [serving, kept];
}

function reportOf(replica: ModelReplica, view: LabView, options: AutoscalerLabOptions): ReplicaReport {
  const ready = replica.readyAtMs <= view.nowMs;
  const level = view.load.inFlight / Math.max(1, view.fleet.replicas.length);
  const memoryRatio = options.service.memoryRatio(Math.max(1, level));
  return {
    id: replica.id,
    version: VERSION,
    epoch: replica.epoch,
    phase: ready ? "ready" : "starting",
    address: null,
    startedAtMs: asWallMs(replica.startedAtMs),
    startupMs: ready ? replica.readyAtMs - replica.startedAtMs : null,
    warmupServiceMs: ready ? 1 / options.service.completionsPerMs(1) : null,
    probedConcurrency: null,
    progressTotal: 0,
    inFlight: Math.round(level),
    resources: {
      cpuMsTotal: replica.cpuMsTotal,
      throttledMsTotal: 0,
      residentBytes: memoryRatio === null ? 0 : memoryRatio * 1e9,
      memoryLimitBytes: memoryRatio === null ? null : 1e9,
    },
    engine: {},
  };
}
