import type { Controller } from "../core/controller.ts";
import type { BoardView, FactName, Facts } from "../domain/board.ts";
import type { RouterLoad } from "../domain/load.ts";
import type { VersionId } from "../domain/names.ts";
import type { Generation } from "../domain/snapshot.ts";
import { Board, type FactWriter, type LiveBoard, storedWriter } from "../driver/board.ts";
import { type DecisionCount, Driver } from "../driver/driver.ts";
import { ReplicaFacts } from "../driver/replica-facts.ts";
import { RouterLoads } from "../driver/router-loads.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ReplicaHost } from "../ports/replica-host.ts";
import type { DecisionLog, KeptStore, SpecStore } from "../ports/stores.ts";
import { autoscaler } from "./autoscaler/autoscaler.ts";
import { capacity } from "./capacity/controller.ts";
import { fleet } from "./fleet/controller.ts";
import { HostHand } from "./fleet/hand.ts";
import { SnapshotBook } from "./publisher/book.ts";
import { publisher } from "./publisher/controller.ts";
import { type RouterLink, SnapshotSender } from "./publisher/send.ts";
import { rollout } from "./rollout/controller.ts";

/** What a region's control needs from outside. */
export interface RegionPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly specs: SpecStore;
  readonly kept: KeptStore;
  readonly decisions: DecisionLog;
  readonly host: ReplicaHost;
  readonly routers: RouterLink;
}

/** The control of one region: the Board, its users' writers, and the ears for what routers say. */
export interface RegionControl {
  readonly board: LiveBoard;
  /** Grows with each start; orders the snapshots of this process after those of earlier ones. */
  readonly incarnation: number;
  /** For the API and the region file. On disk when `set` returns. */
  readonly spec: FactWriter<"spec">;
  readonly apiKeys: FactWriter<"keys">;
  /** For the preparer. On disk when `set` returns. */
  readonly prepared: FactWriter<"prepared">;
  /** A router said Hello, first or again; `holds` is the snapshot it has. */
  routerConnected(router: string, holds: Generation | null): void;
  routerGone(router: string): void;
  routerLoad(load: Omit<RouterLoad, "receivedAtMs">): void;
  /** A request waits for this version: it is decided at once, on the load that the router reported just before. */
  wake(version: VersionId): void;
  /** Adds a law that decides beside the live controller of the same name and only writes to the decision log. Requires: before `start`. */
  addShadow<W, M, K, O>(name: string, controller: Controller<BoardView, W, M, K, O>): void;
  /** Decisions made since the start, by controller and reason. */
  decisionCounts(): readonly DecisionCount[];
  start(): void;
  /** Stops deciding; replicas and routers go on as they are. */
  stop(): void;
}

const LAWS = { rollout, autoscaler, capacity, fleet, publisher };
/** The laws that a region is run by; the simulator puts others in their place to compare. */
export type Laws = typeof LAWS;

/** Wires a region's control: Board, driver, controllers and hands. Nothing runs before `start`. */
export function assemble(ports: RegionPorts, laws: Partial<Laws> = {}): RegionControl {
  const { clock, log, specs, kept, decisions, host, routers } = ports;
  const board = new Board(clock);
  const driver = new Driver({ board, clock, log, kept, decisions });
  const loads = new RouterLoads(board, board.writer("routerLoad"), clock);
  const replicas = new ReplicaFacts(board, clock);
  const hand = new HostHand(board, host, clock);
  const sender = new SnapshotSender(board, clock, routers);
  const control = {
    board,
    incarnation: specs.nextIncarnation(),
    spec: storedWriter(board, specs, "spec"),
    apiKeys: storedWriter(board, specs, "keys"),
    prepared: storedWriter(board, specs, "prepared", ({ state }) => state.kind !== "working"),
  };
  const bookWriters = { route: board.writer("route"), snapshot: board.writer("snapshot") };
  const book = new SnapshotBook(board, bookWriters, sender, control.incarnation);
  addControllers(driver, board, { specs, book }, { ...LAWS, ...laws });
  const endings: (() => void)[] = [];
  return {
    ...control,
    routerConnected: (router, holds) => sender.connected(router, holds),
    routerGone: (router) => sender.gone(router),
    routerLoad: (load) => {
      loads.take(load);
      sender.reported(load.router, load.snapshotGeneration);
    },
    wake: (version) => driver.touch("autoscaler", version),
    addShadow: (name, controller) => driver.addShadow(name, controller),
    decisionCounts: () => driver.counts(),
    start: () => {
      endings.push(
        board.subscribe((fact, key) => {
          if (fact === "replicaSet") hand.changed(key);
          if (fact === "hosted") hand.seen(key);
          if (fact === "keys") book.keysChanged();
          if (fact === "machine") book.look();
        }),
      );
      driver.start();
      loads.start();
      hand.start();
      replicas.start();
      endings.push(host.watch(replicas));
    },
    stop: () => {
      for (const end of endings) end();
      driver.stop();
      loads.stop();
      hand.stop();
      replicas.stop();
      sender.stop();
    },
  };
}

/** The controllers in the order in which facts flow, so that one change runs down the whole chain in one turn. */
function addControllers(
  driver: Driver,
  board: Board,
  { specs, book }: { readonly specs: SpecStore; readonly book: SnapshotBook },
  laws: Laws,
): void {
  driver.add({
    controller: laws.rollout,
    listens: ["spec", "prepared", "rollout", "wanted", "granted", "replicaSet", "replica", "hosted", "machine"],
    publish: oneFact(storedWriter(board, specs, "rollout")),
  });
  driver.add({
    controller: laws.autoscaler,
    listens: ["spec", "rollout", "routerLoad"],
    publish: oneFact(board.writer("wanted")),
  });
  driver.add({
    controller: laws.capacity,
    listens: ["rollout", "wanted", "replicaSet", "hosted", "machine"],
    publish: factPerKey(board.writer("granted"), () => board.keys("granted")),
  });
  driver.add({
    controller: laws.fleet,
    listens: ["spec", "rollout", "wanted", "granted", "replica", "hosted", "machine", "routerLoad"],
    publish: oneFact(board.writer("replicaSet")),
  });
  driver.add({
    controller: laws.publisher,
    listens: ["spec", "prepared", "rollout", "wanted", "replicaSet", "replica", "hosted", "machine"],
    publish: (endpoint, route) => book.decided(endpoint, route),
  });
}

/** Publishes an output as the fact of its key. */
function oneFact<F extends FactName>(writer: FactWriter<F>): (key: string, output: Facts[F] | null) => void {
  return (key, output) => (output === null ? writer.remove(key) : writer.set(key, output));
}

/** Publishes an output that holds the facts of many keys; without an output they stay as they are. */
function factPerKey<F extends FactName>(
  writer: FactWriter<F>,
  present: () => readonly string[],
): (key: string, output: Readonly<Record<string, Facts[F]>> | null) => void {
  return (_key, output) => {
    if (output === null) return;
    for (const key of present()) if (!(key in output)) writer.remove(key);
    for (const [key, value] of Object.entries(output)) writer.set(key, value);
  };
}
