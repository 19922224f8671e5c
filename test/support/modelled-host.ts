import { asWallMs } from "../../runtime/core/time.ts";
import { versionOfReplica } from "../../runtime/domain/names.ts";
import type { HostedReplica, Machine, ReplicaPhase, ReplicaSet } from "../../runtime/domain/replica.ts";
import type { Version } from "../../runtime/domain/version.ts";
import type { ReplicaHost, ReplicaHostObserver } from "../../runtime/ports/replica-host.ts";
import type { Chaos } from "./chaos.ts";
import type { FakeClock } from "./fake-clock.ts";

/** Failed starts in a row until a replica counts as crash-looping. */
const CRASH_LOOP_STARTS = 4;
const RESTART_MS = 1_000;
const STOP_MS = 200;

/** A replica process of the model. */
export interface ModelledReplica {
  readonly id: string;
  readonly version: Version;
  epoch: number;
  state: HostedReplica["state"];
  phase: ReplicaPhase;
  failedStarts: number;
  startedAtMs: number;
  startupMs: number | null;
  inFlight: number;
  completed: number;
}

/** How a version's replicas start: after how long one is ready, or `crashes` / `hangs`. */
export type StartModel = { readonly readyAfterMs: number } | "crashes" | "hangs";

/** What the host tells the checkers. */
export interface HostEvents {
  /** A running replica is ended on purpose, by an applied set. */
  ended(replica: ModelledReplica): void;
  ready(replica: ModelledReplica): void;
}

/** A machine with its agent and keepers: starts, crashes, restarts and stops replica processes in virtual time. */
export class ModelledHost implements ReplicaHost {
  readonly replicas = new Map<string, ModelledReplica>();
  readonly #clock: FakeClock;
  readonly #chaos: Chaos;
  readonly #startOf: (version: Version) => StartModel;
  readonly #events: HostEvents;
  readonly #machine: Machine;
  #observer: ReplicaHostObserver | null = null;
  #epochs = 0;

  constructor(options: {
    readonly clock: FakeClock;
    readonly chaos: Chaos;
    readonly machine: Machine;
    readonly events: HostEvents;
    startOf(version: Version): StartModel;
  }) {
    this.#clock = options.clock;
    this.#chaos = options.chaos;
    this.#startOf = options.startOf;
    this.#machine = options.machine;
    this.#events = options.events;
    this.#reportLoop();
  }

  apply(set: ReplicaSet): void {
    const wanted = new Set(set.replicas.map((replica) => replica.id));
    for (const replica of this.#of(set.version.id)) if (!wanted.has(replica.id)) this.#end(replica);
    for (const id of wanted) if (!this.replicas.has(id)) this.#create(id, set.version);
  }

  remove(version: string): void {
    for (const replica of this.#of(version)) this.#end(replica);
  }

  watch(observer: ReplicaHostObserver): () => void {
    this.#observer = observer;
    this.#clock.after(300, () => {
      if (this.#observer !== observer) return;
      for (const replica of this.replicas.values()) this.#tell(replica);
      observer.machine("model", this.#machine);
    });
    return () => {
      if (this.#observer === observer) this.#observer = null;
    };
  }

  /** The controller is gone: nobody listens. */
  cutOff(): void {
    this.#observer = null;
  }

  crash(id: string): void {
    const replica = this.replicas.get(id);
    if (replica !== undefined && replica.state === "running") this.#exited(replica);
  }

  /** Takes a request: false when nothing listens at this address any more. */
  accepts(id: string, epoch: number): boolean {
    const replica = this.replicas.get(id);
    return replica !== undefined && replica.epoch === epoch && replica.state === "running" && replica.phase === "ready";
  }

  #of(version: string): ModelledReplica[] {
    return [...this.replicas.values()].filter((replica) => versionOfReplica(replica.id) === version);
  }

  #create(id: string, version: Version): void {
    const replica: ModelledReplica = {
      id,
      version,
      epoch: 0,
      state: "starting",
      phase: "starting",
      failedStarts: 0,
      startedAtMs: 0,
      startupMs: null,
      inFlight: 0,
      completed: 0,
    };
    this.replicas.set(id, replica);
    this.#start(replica);
  }

  #start(replica: ModelledReplica): void {
    this.#epochs += 1;
    const epoch = this.#epochs;
    Object.assign(replica, { epoch, state: "running", phase: "starting", inFlight: 0, startupMs: null });
    replica.startedAtMs = this.#clock.wallMs();
    this.#tell(replica);
    const model = this.#startOf(replica.version);
    if (model === "hangs") return;
    this.#clock.after(model === "crashes" ? 500 : model.readyAfterMs, () => {
      if (replica.epoch !== epoch || replica.state !== "running") return;
      if (model === "crashes") this.#exited(replica);
      else this.#ready(replica, model.readyAfterMs);
    });
  }

  #ready(replica: ModelledReplica, startupMs: number): void {
    Object.assign(replica, { phase: "ready", startupMs, failedStarts: 0 });
    this.#events.ready(replica);
    this.#report(replica);
  }

  #exited(replica: ModelledReplica): void {
    if (replica.phase !== "ready") replica.failedStarts += 1;
    Object.assign(replica, { phase: "starting", inFlight: 0, epoch: replica.epoch });
    replica.state = replica.failedStarts >= CRASH_LOOP_STARTS ? "crash-loop" : "waiting";
    this.#tell(replica);
    const { epoch } = replica;
    if (replica.state === "crash-loop") return;
    this.#clock.after(RESTART_MS * 2 ** replica.failedStarts, () => {
      if (replica.state === "waiting" && replica.epoch === epoch) this.#start(replica);
    });
  }

  #end(replica: ModelledReplica): void {
    if (replica.state === "stopping") return;
    this.#events.ended(replica);
    replica.state = "stopping";
    this.#tell(replica);
    this.#clock.after(STOP_MS, () => {
      this.replicas.delete(replica.id);
      this.#observer?.gone(replica.id);
    });
  }

  #reportLoop(): void {
    this.#clock.after(1_000, () => {
      for (const replica of this.replicas.values()) if (replica.state === "running") this.#report(replica);
      this.#reportLoop();
    });
  }

  #tell(replica: ModelledReplica): void {
    const { id, epoch, state, failedStarts } = replica;
    this.#observer?.hosted({
      id,
      version: replica.version.id,
      epoch,
      state,
      pid: null,
      failedStarts,
      lastExit: null,
      lastLog: failedStarts > 0 ? ["modelled replica: exit 1"] : [],
    });
  }

  #report(replica: ModelledReplica): void {
    const { id, epoch, phase, startupMs, inFlight, completed } = replica;
    const report = {
      id,
      version: replica.version.id,
      epoch,
      phase,
      address: { host: "127.0.0.1", port: epoch },
      startedAtMs: asWallMs(replica.startedAtMs),
      startupMs,
      warmupServiceMs: phase === "ready" ? 50 : null,
      probedConcurrency: null,
      progressTotal: completed,
      inFlight,
      resources: {
        cpuMsTotal: completed * 10,
        throttledMsTotal: 0,
        residentBytes: 2 ** 30,
        memoryLimitBytes: null,
      },
      engine: {},
    };
    this.#chaos.carry(() => this.#observer?.replica(report));
  }
}
