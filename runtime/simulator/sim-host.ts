import type { Uniform } from "../core/prng.ts";
import { ordinalOfReplica } from "../domain/names.ts";
import type { HostedReplica, Machine, ReplicaReport, ReplicaSet } from "../domain/replica.ts";
import type { Version } from "../domain/version.ts";
import type { Clock } from "../ports/clock.ts";
import type { ReplicaHost, ReplicaHostObserver } from "../ports/replica-host.ts";
import type { StartDelay } from "./model-fleet.ts";
import type { ServiceModel } from "./service-model.ts";
import { SharedReplica } from "./shared-replica.ts";

/** A replica process of the simulation. */
export interface SimReplica {
  readonly id: string;
  readonly version: Version;
  readonly epoch: number;
  readonly startedAtMs: number;
  readyAtMs: number | null;
  readonly engine: SharedReplica;
}

const REPORT_MS = 1_000;

/** A machine whose replica processes start after a drawn delay, serve by a service model, and report once a second. */
export class SimHost implements ReplicaHost {
  readonly replicas = new Map<string, SimReplica>();
  readonly #clock: Clock;
  readonly #uniform: Uniform;
  readonly #service: ServiceModel;
  readonly #start: StartDelay;
  readonly #machine: Machine;
  #observer: ReplicaHostObserver | null = null;
  #epochs = 0;
  /** Called with a replica that has just ended, so that its callers see the reset. */
  onEnd: (replica: SimReplica) => void = () => {};

  constructor(clock: Clock, uniform: Uniform, service: ServiceModel, start: StartDelay, machine: Machine) {
    this.#clock = clock;
    this.#uniform = uniform;
    this.#service = service;
    this.#start = start;
    this.#machine = machine;
    this.#reportLoop();
  }

  apply(set: ReplicaSet): void {
    const wanted = new Set(set.replicas.map((replica) => replica.id));
    for (const replica of [...this.replicas.values()]) {
      if (replica.version.id === set.version.id && !wanted.has(replica.id)) this.end(replica.id);
    }
    for (const id of wanted) if (!this.replicas.has(id)) this.#create(id, set.version);
  }

  remove(version: string): void {
    for (const replica of [...this.replicas.values()]) if (replica.version.id === version) this.end(replica.id);
  }

  watch(observer: ReplicaHostObserver): () => void {
    this.#observer = observer;
    observer.machine("simulated", this.#machine);
    for (const replica of this.replicas.values()) this.#tell(replica);
    return () => {
      this.#observer = null;
    };
  }

  /** Ends a replica at once, as kill -9 does; a set that still names it starts it again at its next `apply`. */
  end(id: string): void {
    const replica = this.replicas.get(id);
    if (replica === undefined) return;
    this.replicas.delete(id);
    this.onEnd(replica);
    replica.engine.end();
    this.#observer?.gone(id);
  }

  #create(id: string, version: Version): void {
    const replica: SimReplica = {
      id,
      version,
      epoch: ++this.#epochs,
      startedAtMs: this.#clock.wallMs(),
      readyAtMs: null,
      engine: new SharedReplica(this.#clock, this.#service),
    };
    this.replicas.set(id, replica);
    this.#tell(replica);
    this.#clock.after(this.#start(this.#uniform), () => {
      replica.readyAtMs = this.#clock.wallMs();
      if (this.replicas.get(id) === replica) this.#tell(replica);
    });
  }

  #reportLoop(): void {
    this.#clock.after(REPORT_MS, () => {
      for (const replica of this.replicas.values()) this.#tell(replica);
      this.#reportLoop();
    });
  }

  #tell(replica: SimReplica): void {
    this.#observer?.hosted(hostedOf(replica));
    this.#observer?.replica(reportOf(replica, this.#service));
  }
}

function hostedOf(replica: SimReplica): HostedReplica {
  return {
    id: replica.id,
    version: replica.version.id,
    epoch: replica.epoch,
    state: replica.readyAtMs === null ? "starting" : "running",
    pid: null,
    failedStarts: 0,
    lastExit: null,
    lastLog: [],
  };
}

function reportOf(replica: SimReplica, service: ServiceModel): ReplicaReport {
  const { engine, readyAtMs } = replica;
  const memoryRatio = service.memoryRatio(engine.inFlight);
  return {
    id: replica.id,
    version: replica.version.id,
    epoch: replica.epoch,
    phase: readyAtMs === null ? "starting" : "ready",
    address: readyAtMs === null ? null : { host: "sim", port: 1 + (ordinalOfReplica(replica.id) % 65_000) },
    startedAtMs: replica.startedAtMs as ReplicaReport["startedAtMs"],
    startupMs: readyAtMs === null ? null : readyAtMs - replica.startedAtMs,
    warmupServiceMs: readyAtMs === null ? null : 1 / service.completionsPerMs(1),
    probedConcurrency: null,
    progressTotal: engine.completed,
    inFlight: engine.inFlight,
    resources: {
      cpuMsTotal: engine.cpuMsTotal,
      throttledMsTotal: 0,
      residentBytes: (memoryRatio ?? 0) * 1e9,
      memoryLimitBytes: memoryRatio === null ? null : 1e9,
    },
    engine: {},
  };
}
