import { chmodSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { systemClock } from "../adapters/clock.ts";
import { type ControllerServer, listenForPeers, type Peer, type PeerObserver } from "../adapters/controller-server.ts";
import { ProcessHost } from "../adapters/process-host.ts";
import { openStores, type RegionStores } from "../adapters/stores/sqlite.ts";
import type { RegionFile } from "../contract/spec/region-file.ts";
import type { ControllerLaunch } from "../contract/wire/launch.ts";
import { assemble, type RegionControl } from "../control/assemble.ts";
import { unreachable } from "../core/assert.ts";
import { UserError } from "../core/errors.ts";
import { type ApiKey, type BoardView, REGION_KEY } from "../domain/board.ts";
import { endpointOfVersion, versionOfReplica } from "../domain/names.ts";
import { Preparer } from "../node/prepare/preparer.ts";
import { createApi } from "../operate/api/app.ts";
import { serveApi } from "../operate/api/serve.ts";
import { mountConsole } from "../operate/console/mount.ts";
import { LogBook } from "../operate/logs/log-book.ts";
import type { Log } from "../ports/log.ts";
import { mergeKeys, planFileEndpoints } from "./file-endpoints.ts";
import { startGarbageCollection } from "./garbage.ts";
import { readKeptLogs } from "./kept-logs.ts";
import { keysOf, makeOperations } from "./operations.ts";
import { readRegionFile } from "./region-settings.ts";
import { loadShadow, type Shadow } from "./shadows.ts";

/** Room in the kept store for what this file remembers: the hashes of the keys that the region file added last time. */
const FILE_KEYS = { controller: "region-file", key: "key-hashes" } as const;

/** What a controller process needs beside its launch. */
export interface ControllerDeps {
  /** Shared by all regions of the machine. */
  readonly cacheDir: string;
  readonly log: Log;
}

/** A running controller. */
export interface RunningController {
  /** Stops in order; replicas and routers go on as they are. */
  stop(): Promise<void>;
}

/**
 * Runs the control of a local region: state, preparer, the peers' socket and the HTTP API.
 * Errors: UserError where the state is at fault.
 */
export async function runController(launch: ControllerLaunch, deps: ControllerDeps): Promise<RunningController> {
  const file = readFileOrNull(launch, deps.log);
  const stores = openStores(join(launch.dataDir, "state.sqlite"));
  const host = new ProcessHost();
  const logs = new LogBook();
  for (const { source, line, atMs } of readKeptLogs(join(launch.dataDir, "logs"))) logs.add(source, [line], atMs);
  const peers = new Map<string, Peer>();
  const control = assemble({
    clock: systemClock,
    log: deps.log,
    specs: stores.specs,
    kept: stores.kept,
    decisions: stores.decisions,
    host,
    routers: { send: (router, message) => peers.get(router)?.send(message) ?? false },
  });
  const shadows = await startShadows(launch, deps.log, control);
  const preparer = startPreparer(launch, deps, control);
  const applyKeys = applyFile(launch, file, control, stores);
  control.start();
  const places = { dataDir: launch.dataDir, cacheDir: deps.cacheDir, clock: systemClock };
  const endGarbage = startGarbageCollection(control.board, places, deps.log);
  const server = await listenForPeers(launch.controllerSocket, {
    log: deps.log,
    observer: peerObserver(control, host, logs, peers),
  });
  control.board.subscribe((fact, key) => {
    if (fact !== "spec") return;
    const keepers = server.peers("keeper").filter(({ name }) => endpointOfVersion(versionOfReplica(name)) === key);
    for (const keeper of keepers) sayLogLevel(control.board, keeper);
  });
  const api = createApi(
    makeOperations({
      info: {
        region: launch.region,
        baseUrl: launch.baseUrl,
        dataDir: launch.dataDir,
        regionFile: launch.regionFile,
        startedAtMs: systemClock.wallMs(),
        incarnation: control.incarnation,
      },
      clock: systemClock,
      control,
      decisions: stores.decisions,
      logs,
      applyKeys,
      shadows,
    }),
  );
  mountConsole(api.app);
  // A controller that was killed leaves its socket's file; the lock of the data folder says that no other one lives.
  rmSync(launch.apiSocket, { force: true });
  const http = await serveApi(api.app, { path: launch.apiSocket });
  chmodSync(launch.apiSocket, 0o600);
  return { stop: () => stop({ api, http, server, control, preparer, stores, endGarbage }) };
}

/** Adds the laws that run in shadow. One that can't be loaded is left out: the live laws go on whatever a shadow's file says. */
async function startShadows(launch: ControllerLaunch, log: Log, control: RegionControl): Promise<readonly Shadow[]> {
  const shadows: Shadow[] = [];
  for (const source of launch.shadows) {
    try {
      const shadow = await loadShadow(source);
      control.addShadow(shadow.name, shadow.law);
      shadows.push(shadow);
    } catch (error) {
      log.error("SHADOW_NOT_LOADED", { shadow: source.name, why: String(error) });
    }
  }
  return shadows;
}

async function stop(parts: {
  readonly api: { close(): void };
  readonly http: Server;
  readonly server: ControllerServer;
  readonly control: RegionControl;
  readonly preparer: Preparer;
  readonly stores: RegionStores;
  endGarbage(): void;
}): Promise<void> {
  parts.endGarbage();
  parts.http.close();
  parts.http.closeAllConnections();
  parts.api.close();
  parts.control.stop();
  await parts.preparer.stop();
  await parts.server.close();
  parts.stores.close();
}

/** Hands each spec to the preparer, those of an earlier life with what was prepared then. */
function startPreparer(launch: ControllerLaunch, deps: ControllerDeps, control: RegionControl): Preparer {
  const { board, prepared } = control;
  const preparer = new Preparer({
    clock: systemClock,
    log: deps.log,
    cacheDir: deps.cacheDir,
    dataDir: launch.dataDir,
    publish: (fact) => {
      // The endpoint may have been deleted while the last piece of work on it ended.
      if (board.get("spec", fact.endpoint).kind === "known") prepared.set(fact.endpoint, fact);
    },
  });
  const look = (name: string): void => {
    const spec = board.get("spec", name);
    const kept = board.get("prepared", name);
    if (spec.kind === "known") preparer.want(spec.value, kept.kind === "known" ? kept.value : null);
    else {
      preparer.forget(name);
      prepared.remove(name);
    }
  };
  for (const name of new Set([...board.keys("spec"), ...board.keys("prepared")])) look(name);
  board.subscribe((fact, key) => {
    if (fact === "spec") look(key);
  });
  return preparer;
}

/**
 * The region file, or null where it can't be read. The agent has checked it before it started anything, so that a
 * mistake came in while the region runs: then what it said before holds on, and control goes on over a restart.
 */
function readFileOrNull({ regionFile }: ControllerLaunch, log: Log): RegionFile | null {
  try {
    return readRegionFile(regionFile);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    log.error("REGION_FILE_NOT_APPLIED", { code: error.code, why: error.message, todo: error.todo });
    return null;
  }
}

/** Applies what the region file lists, or leaves what it listed as it is where it can't be read; returns the writer of the other keys. */
function applyFile(
  launch: ControllerLaunch,
  file: RegionFile | null,
  control: RegionControl,
  { kept }: RegionStores,
): (keys: readonly ApiKey[]) => void {
  const { board, spec, apiKeys } = control;
  const specs = board.keys("spec").flatMap((name) => {
    const known = board.get("spec", name);
    return known.kind === "known" ? [known.value] : [];
  });
  const changes = file === null ? null : planFileEndpoints(specs, file.endpoints);
  for (const name of changes?.remove ?? []) spec.remove(name);
  for (const changed of changes?.apply ?? []) spec.set(changed.name, changed);

  const before = new Set((kept.get(FILE_KEYS.controller, FILE_KEYS.key) ?? []) as readonly string[]);
  const ofFile: readonly ApiKey[] =
    file === null
      ? keysOf(control).filter((key) => before.has(key.hash))
      : file.keys.map(({ sha256, ...key }) => ({ hash: sha256, ...key }));
  const applyKeys = (others: readonly ApiKey[]): void =>
    apiKeys.set(REGION_KEY, { required: launch.keysRequired, keys: mergeKeys(ofFile, others) });
  applyKeys(keysOf(control).filter((key) => !before.has(key.hash)));
  kept.put(
    FILE_KEYS.controller,
    FILE_KEYS.key,
    ofFile.map((key) => key.hash),
  );
  return applyKeys;
}

/** Tells a keeper its endpoint's log level. Saying it again changes nothing; a lost word is said at the next Hello. */
function sayLogLevel(board: BoardView, keeper: Peer): void {
  const spec = board.get("spec", endpointOfVersion(versionOfReplica(keeper.name)));
  if (spec.kind === "known") keeper.send({ kind: "logLevel", level: spec.value.logLevel });
}

function peerObserver(
  control: RegionControl,
  host: ProcessHost,
  logs: LogBook,
  routers: Map<string, Peer>,
): PeerObserver {
  return {
    hello: (peer) => {
      if (peer.role === "agent") host.connected(peer);
      if (peer.role === "keeper") sayLogLevel(control.board, peer);
      if (peer.role !== "router") return;
      routers.set(peer.name, peer);
      control.routerConnected(peer.name, peer.hello.holds);
    },
    gone: (peer) => {
      if (peer.role === "agent") host.disconnected(peer);
      if (peer.role !== "router" || routers.get(peer.name) !== peer) return;
      routers.delete(peer.name);
      control.routerGone(peer.name);
    },
    message: (peer, message) => {
      switch (message.kind) {
        case "routerLoad":
          return control.routerLoad(message.load);
        case "wake":
          return control.wake(message.version);
        case "replica":
          return host.report(message.report);
        case "hosted":
        case "gone":
        case "machine":
          return host.receive(peer.name, message);
        case "logLines":
          return logs.add(message.source, message.lines, systemClock.wallMs());
        default:
          return unreachable(message);
      }
    },
  };
}
