import { claimPort } from "../../adapters/claim-port.ts";
import type { RouterLaunch } from "../../contract/wire/launch.ts";
import type { Hello, ToController, WireMessage } from "../../contract/wire/messages.ts";
import { applyDiff, compareGenerations, type Snapshot } from "../../domain/snapshot.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { Tap } from "../../ports/tap.ts";
import { readLoad, retireThread } from "../flow/load.ts";
import { createFlowMemory, type FlowMemory } from "../flow/memory.ts";
import { type SlotPlan, SlotPlanner } from "../flow/slots.ts";
import { nowMs } from "./mono.ts";
import { EMPTY_SNAPSHOT } from "./region-snapshot.ts";
import { RouterThreads, type ThreadsHost } from "./router-threads.ts";
import { readSnapshot, SnapshotKeeper } from "./snapshot-file.ts";
import type { FromThread, ThreadStart } from "./thread-messages.ts";

/** How often loads are reported. */
const REPORT_MS = 1_000;
/** Room of the flow memory: 10,000 replicas with as many old epochs still busy, 2,000 versions; 20 MB with two threads. */
const REPLICA_SLOTS = 20_480;
const VERSION_SLOTS = 2_048;
/** Requests in flight at SIGTERM get this long; longer answers are cut. */
const STOP_MS = 60_000;

/** What a router is built of. */
export interface RouterOptions {
  readonly launch: RouterLaunch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Takes sampled requests, or null. */
  readonly tap: Tap | null;
  /** Dials the controller for ever. */
  dial(handlers: {
    readonly hello: () => Hello;
    readonly onMessage: (message: WireMessage) => void;
    readonly onConnected: () => void;
  }): { send(message: ToController): boolean; close(): void };
}

/** A running router. */
export interface Router {
  readonly port: number;
  /** Takes no new requests and resolves once the present ones have ended. */
  stop(): Promise<void>;
  /** Ends one thread as a crash would; for tests of what happens then. */
  killThread(thread: number): Promise<number>;
}

/**
 * Starts a router: threads on one port, the snapshot from disk and then from the controller, load reports.
 * Errors: UserError where its address or port can't be had (claimPort).
 */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { launch } = options;
  const port = await claimPort(launch.host, launch.port);
  const router = new RouterProcess(options, port);
  await router.start();
  return router;
}

class RouterProcess implements Router, ThreadsHost {
  readonly port: number;
  readonly #options: RouterOptions;
  readonly #memory: FlowMemory;
  readonly #planner: SlotPlanner;
  readonly #keeper: SnapshotKeeper;
  readonly #threads: RouterThreads;
  #snapshot: Snapshot;
  #plan: SlotPlan;
  #seq = 0;
  #link: ReturnType<RouterOptions["dial"]> | null = null;
  #cancelReport = (): void => {};

  constructor(options: RouterOptions, port: number) {
    const { launch, log } = options;
    this.#options = options;
    this.port = port;
    this.#memory = createFlowMemory({
      threads: launch.threads,
      replicaSlots: REPLICA_SLOTS,
      versionSlots: VERSION_SLOTS,
    });
    this.#planner = new SlotPlanner(this.#memory);
    this.#keeper = new SnapshotKeeper(launch.snapshotFile, (why) => log.error("ROUTER_SNAPSHOT_NOT_KEPT", { why }));
    this.#snapshot =
      readSnapshot(launch.snapshotFile, (why) => log.warn("ROUTER_SNAPSHOT_SET_ASIDE", { why })) ?? EMPTY_SNAPSHOT;
    this.#plan = this.#planner.plan(this.#snapshot);
    this.#threads = new RouterThreads(this, launch.threads);
  }

  async start(): Promise<void> {
    await this.#threads.start();
    this.#link = this.#options.dial({
      hello: () => this.#hello(),
      onMessage: (message) => this.#onController(message),
      onConnected: () => this.#report(),
    });
    this.#reportLater();
  }

  async stop(): Promise<void> {
    this.#cancelReport();
    const timeUp = new Promise<void>((resolve) => this.#options.clock.after(STOP_MS, resolve));
    await Promise.race([this.#threads.stop(), timeUp]);
    this.#report();
    await this.#threads.terminate();
    this.#link?.close();
    await this.#keeper.idle();
  }

  async killThread(thread: number): Promise<number> {
    return this.#threads.crash(thread);
  }

  get log(): Log {
    return this.#options.log;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  threadStart(thread: number): ThreadStart {
    const { launch, random, tap } = this.#options;
    return {
      thread,
      memory: this.#memory.buffer,
      plan: this.#plan,
      listen: { host: launch.host, port: this.port },
      apiSocket: launch.apiSocket,
      tapping: tap !== null,
      seed: Math.floor(random.uniform() * 2 ** 32),
    };
  }

  onThread(message: FromThread): void {
    if (message.kind === "wake") this.#link?.send(message);
    else if (message.kind === "spans") for (const span of message.spans) this.#options.tap?.requestEnded(span);
  }

  /** A dead thread's leases are gone: its rows go back, its counters stay. */
  retire(thread: number): void {
    retireThread(this.#memory, thread, nowMs());
    this.#report();
  }

  #hello(): Hello {
    const { launch } = this.#options;
    const { generation } = this.#snapshot;
    const holds = generation.number === 0 && generation.incarnation === 0 ? null : generation;
    return { kind: "hello", role: "router", name: launch.name, epoch: launch.epoch, holds };
  }

  #onController(message: WireMessage): void {
    if (message.kind === "snapshot") this.#take(message.snapshot);
    else if (message.kind === "snapshotDiff") {
      const next = applyDiff(this.#snapshot, message);
      if (next !== null) this.#take(next);
      // A repeated diff is no gap; any other asks for the whole by saying what is held.
      else if (compareGenerations(message.to, this.#snapshot.generation) !== 0) this.#link?.send(this.#hello());
    }
  }

  #take(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#plan = this.#planner.plan(snapshot);
    this.#threads.post({ kind: "plan", plan: this.#plan });
    this.#keeper.keep(snapshot);
    // The next report names the new generation: it proves to the controller that a drain is heeded.
    this.#report();
  }

  #reportLater(): void {
    this.#cancelReport = this.#options.clock.after(REPORT_MS, () => {
      this.#report();
      this.#reportLater();
    });
  }

  #report(): void {
    const { launch } = this.#options;
    const now = nowMs();
    const { versions, replicas } = readLoad(this.#memory, this.#plan, now);
    this.#seq++;
    this.#link?.send({
      kind: "routerLoad",
      load: {
        router: launch.name,
        epoch: launch.epoch,
        seq: this.#seq,
        routerMonoMs: now,
        snapshotGeneration: this.#snapshot.generation,
        memoryBytes: process.memoryUsage.rss(),
        versions,
        replicas,
      },
    });
  }
}
