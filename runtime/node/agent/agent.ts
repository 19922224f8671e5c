import { join } from "node:path";
import { type ControllerLink, dialController } from "../../adapters/controller-link.ts";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";
import type { ToAgent, WireMessage } from "../../contract/wire/messages.ts";
import type { Epoch, ReplicaId, VersionId } from "../../domain/names.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import type { Version } from "../../domain/version.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { Command } from "./child.ts";
import { LogForwarder } from "./log-forwarder.ts";
import { readMachine } from "./machine.ts";
import { ProcessLog, pruneLogs } from "./process-log.ts";
import { RunFile } from "./run-file.ts";
import type { RestartPolicy } from "./supervise.ts";
import { Supervised } from "./supervised.ts";
import { WantedSets } from "./wanted-sets.ts";

/** Parts of the region that run whatever is deployed. */
export type ServiceName = "controller" | "router";

/** What an agent needs. */
export interface AgentOptions {
  /** Name of this machine in the region. */
  readonly name: string;
  readonly dataDir: string;
  readonly controllerSocket: string;
  /** Address on which replicas listen. */
  readonly host: string;
  readonly services: Readonly<Record<ServiceName, (epoch: Epoch) => Command>>;
  readonly replica: (launch: ReplicaLaunch) => Command;
  /** Port at which the routers last knew a replica; 0 where they did not. */
  readonly lastPortOf: (id: ReplicaId) => number;
  /** A service has started, has become ready or has ended. */
  readonly onService: (name: ServiceName, view: Supervised["view"]) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const TICK_MS = 1_000;
const MACHINE_EVERY_TICKS = 10;
/** Grace of a replica on an ordered end of the region: a person waits for it, and may ask again to end at once. */
const LAST_GRACE_MS = 30_000;

/** Services come back at once and for ever: without them nothing can be repaired. */
const SERVICE_POLICY: RestartPolicy = {
  firstDelayMs: 0,
  maxDelayMs: 30_000,
  healthyAfterMs: 10_000,
  giveUpAfter: null,
  graceMs: 30_000,
};
/** The grace of a replica is the default bound of a request (spec: timeouts.requestMs), since fleet lets go of idle ones only. */
const REPLICA_POLICY: RestartPolicy = {
  firstDelayMs: 100,
  maxDelayMs: 30_000,
  healthyAfterMs: 60_000,
  giveUpAfter: 6,
  graceMs: 600_000,
};

interface Replica {
  /** As the controller told it last: the next start is made from it. */
  version: Version;
  readonly process: Supervised;
}

/** Parent of all processes of a region on one machine: starts them, watches them, starts them again, and ends them. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #runFile: RunFile;
  readonly #wanted: WantedSets;
  readonly #link: ControllerLink;
  readonly #forwarder: LogForwarder;
  readonly #services = new Map<ServiceName, Supervised>();
  readonly #replicas = new Map<ReplicaId, Replica>();
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #stopping = false;
  #whenForgotten: (() => void)[] = [];

  /** Ends what an earlier agent left behind, then starts controller and router. Requires: the lock of the data folder. */
  constructor(options: AgentOptions) {
    const { dataDir, clock, log } = options;
    this.#options = options;
    this.#runFile = new RunFile(dataDir, log);
    for (const process of this.#runFile.killed) log.warn("PROCESS_OF_EARLIER_LIFE_KILLED", { process });
    pruneLogs(join(dataDir, "logs"));
    this.#wanted = new WantedSets(dataDir, log);
    this.#startService("controller");
    const epoch = this.#runFile.nextEpoch();
    this.#link = dialController({
      socket: options.controllerSocket,
      hello: () => ({ kind: "hello", role: "agent", name: options.name, epoch, holds: null }),
      onMessage: (message) => this.#receive(message),
      onConnected: () => this.#sayEverything(),
      clock,
      random: options.random,
      log,
    });
    this.#forwarder = new LogForwarder(clock, (source, lines) => this.#link.send({ kind: "logLines", source, lines }));
    this.#startService("router");
    this.#startLastSets();
    // A timer that keeps this process alive, also while all children are between two starts.
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Ends in order: the router first, so that nothing new comes in, then the replicas, then the controller. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#endAll([this.#services.get("router")]);
    await this.#endAll([...this.#replicas.values()].map((replica) => replica.process));
    await this.#endAll([this.#services.get("controller")]);
    this.#close();
  }

  /** Ends all at once. */
  kill(): void {
    this.#stopping = true;
    for (const process of this.#processes()) {
      process.want(false, 0);
      process.kill();
    }
    this.#close();
  }

  #close(): void {
    clearInterval(this.#timer);
    this.#link.close();
  }

  *#processes(): Iterable<Supervised> {
    yield* this.#services.values();
    for (const replica of this.#replicas.values()) yield replica.process;
  }

  async #endAll(processes: readonly (Supervised | undefined)[]): Promise<void> {
    for (const process of processes) process?.want(false, LAST_GRACE_MS);
    const alive = (): boolean => {
      const running = new Set(this.#processes());
      return processes.some((process) => process && running.has(process));
    };
    while (alive()) await new Promise<void>((resolve) => this.#whenForgotten.push(resolve));
  }

  #startService(name: ServiceName): void {
    const process = this.#supervise(name, this.#options.services[name], SERVICE_POLICY, {
      onChange: () => {
        const view = this.#services.get(name)?.view;
        if (view) this.#options.onService(name, view);
      },
      onForgotten: () => this.#services.delete(name),
    });
    this.#services.set(name, process);
  }

  #startReplica(id: ReplicaId, first: Version): void {
    const { controllerSocket, dataDir, host } = this.#options;
    const command = (epoch: Epoch): Command => {
      // Nobody tells the routers of a new address while the controller is away.
      const port = this.#link.connected ? 0 : this.#options.lastPortOf(id);
      const version = this.#replicas.get(id)?.version ?? first;
      return this.#options.replica({ id, epoch, version, controllerSocket, dataDir, host, port });
    };
    const process = this.#supervise(id, command, REPLICA_POLICY, {
      onChange: () => this.#sayHosted(id),
      onForgotten: () => {
        this.#replicas.delete(id);
        this.#link.send({ kind: "gone", replica: id });
        pruneLogs(join(dataDir, "logs"));
      },
    });
    this.#replicas.set(id, { version: first, process });
    this.#sayHosted(id);
  }

  #supervise(
    id: string,
    command: (epoch: Epoch) => Command,
    policy: RestartPolicy,
    { onChange, onForgotten }: { readonly onChange: () => void; readonly onForgotten: () => void },
  ): Supervised {
    const { dataDir, clock, log } = this.#options;
    return new Supervised({
      id,
      command,
      policy,
      output: new ProcessLog(join(dataDir, "logs", `${id}.log`)),
      runFile: this.#runFile,
      clock,
      log,
      onChange,
      onLines: (lines) => this.#forwarder.take(id, lines),
      onForgotten: () => {
        onForgotten();
        for (const resolve of this.#whenForgotten.splice(0)) resolve();
      },
    });
  }

  #receive(message: WireMessage): void {
    if (this.#stopping) return;
    const told = message as ToAgent;
    if (told.kind === "replicaSet") this.#apply(told.set);
    else if (told.kind === "removeVersion") this.#remove(told.version);
  }

  #apply(set: ReplicaSet): void {
    const changed = this.#wanted.put(set);
    const ids = new Set(set.replicas.map((replica) => replica.id));
    for (const [id, replica] of this.#replicas) {
      if (replica.version.id !== set.version.id) continue;
      const { process } = replica;
      replica.version = set.version;
      process.want(ids.has(id));
      if (changed) process.retryNow();
    }
    for (const id of ids) if (!this.#replicas.has(id)) this.#startReplica(id, set.version);
  }

  #remove(version: VersionId): void {
    this.#wanted.remove(version);
    for (const replica of [...this.#replicas.values()]) {
      if (replica.version.id === version) replica.process.want(false);
    }
  }

  /**
   * Starts what the last life's controller wanted while this one's starts, and also where none can. What is wanted no more
   * ends at the controller's first word.
   */
  #startLastSets(): void {
    const sets = this.#wanted.all();
    if (sets.length > 0) this.#options.log.info("LAST_SETS_STARTED", { versions: sets.length });
    for (const set of sets) this.#apply(set);
  }

  #tick(): void {
    this.#ticks += 1;
    for (const process of [...this.#processes()]) process.tick();
    if (this.#ticks % MACHINE_EVERY_TICKS === 0) this.#sayMachine();
  }

  /** Replicas first: the machine's message then says that all of them have been told. */
  #sayEverything(): void {
    for (const id of this.#replicas.keys()) this.#sayHosted(id);
    this.#sayMachine();
  }

  #sayHosted(id: ReplicaId): void {
    const replica = this.#replicas.get(id);
    if (!replica) return;
    const { version, process } = replica;
    this.#link.send({ kind: "hosted", replica: { id, version: version.id, ...process.view } });
  }

  #sayMachine(): void {
    this.#link.send({ kind: "machine", machine: readMachine() });
  }
}
