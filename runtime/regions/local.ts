import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { claimPort } from "../adapters/claim-port.ts";
import { systemClock } from "../adapters/clock.ts";
import { lockDataDir } from "../adapters/data-dir-lock.ts";
import { writeKept } from "../adapters/kept-file.ts";
import { systemRandom } from "../adapters/random.ts";
import { explained } from "../adapters/stores/database.ts";
import { ADDRESS_FILE } from "../contract/names.ts";
import type { RegionFile } from "../contract/spec/region-file.ts";
import type { ControllerLaunch, ReplicaLaunch, RouterLaunch, ShadowSource } from "../contract/wire/launch.ts";
import { UserError } from "../core/errors.ts";
import { readSnapshot } from "../dataplane/wire/snapshot-file.ts";
import type { ReplicaId } from "../domain/names.ts";
import { Agent } from "../node/agent/agent.ts";
import type { Log } from "../ports/log.ts";
import { nodeCommand } from "./node-command.ts";
import { readRegionFile } from "./region-settings.ts";
import { serviceFailure } from "./service-failure.ts";
import { loadShadow, mergeShadows } from "./shadows.ts";
import { makeSocketPaths } from "./socket-paths.ts";

/** What `penstock up` was asked for; null leaves it to the region file. */
export interface LocalRegionOptions {
  /** Path of the region file. */
  readonly configFile: string;
  readonly host: string | null;
  /** 0: any free port. */
  readonly port: number | null;
  readonly dataDir: string | null;
  /** Laws to run in shadow beside those of the region file; one of the same name takes the file's place. */
  readonly shadows: readonly ShadowSource[];
  readonly log: Log;
}

/** A running region, with this process as its agent. */
export interface LocalRegion {
  readonly name: string;
  /** Where clients reach it: no slash at the end. */
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly keysRequired: boolean;
  /** Resolves once its controller or its router can't start, with why; never where both can. */
  readonly failed: Promise<UserError>;
  /** Ends in order: what is in flight is finished. */
  stop(): Promise<void>;
  /** Ends all processes at once. */
  kill(): void;
}

/**
 * Starts a region on this machine: its controller, its router, and the replicas that the controller asks for.
 * Nothing is started unless the region file, the shadows, the data folder and the port are good.
 * Errors: UserError saying which of them is not, and what to do.
 */
export async function startLocalRegion(options: LocalRegionOptions): Promise<LocalRegion> {
  const regionFile = resolve(options.configFile);
  const file = readRegionFile(regionFile);
  const host = options.host ?? file.host;
  const keysRequired = checkHost(host, file);
  const shadows = mergeShadows(file.shadows, options.shadows);
  for (const shadow of shadows) await loadShadow(shadow);
  const dataDir = resolve(options.dataDir ?? file.dataDir ?? join(homedir(), ".penstock", file.region));
  const port = await claimPort(host, options.port ?? file.port);
  const unlock = lockDataDir(dataDir, { pid: process.pid, startedAt: new Date().toISOString() });
  const baseUrl = `http://${urlHost(host)}:${port}`;
  const sockets = explained(dataDir, () => {
    writeKept(join(dataDir, ADDRESS_FILE), "address/1", { url: baseUrl });
    return makeSocketPaths(dataDir);
  });
  const controller: ControllerLaunch = {
    region: file.region,
    dataDir,
    controllerSocket: sockets.controller,
    apiSocket: sockets.api,
    baseUrl,
    regionFile,
    keysRequired,
    shadows,
  };
  const router: Omit<RouterLaunch, "epoch"> = {
    name: "router",
    host,
    port,
    threads: file.routerThreads,
    controllerSocket: sockets.controller,
    apiSocket: sockets.api,
    snapshotFile: join(dataDir, "snapshot.json"),
  };
  const failed = Promise.withResolvers<UserError>();
  const agent = new Agent({
    name: "local",
    dataDir,
    controllerSocket: sockets.controller,
    host: "127.0.0.1",
    services: {
      controller: () => nodeCommand("controller", controller),
      router: (epoch) => nodeCommand("router", { ...router, epoch } satisfies RouterLaunch),
    },
    replica: (launch: ReplicaLaunch) => nodeCommand("keeper", launch),
    lastPortOf: (id) => lastPortOf(router.snapshotFile, id, options.log),
    onService: (service, view) => {
      const failure = serviceFailure(service, view, join(dataDir, "logs"));
      if (failure !== null) failed.resolve(failure);
    },
    clock: systemClock,
    random: systemRandom,
    log: options.log,
  });
  return {
    name: file.region,
    baseUrl,
    dataDir,
    keysRequired,
    failed: failed.promise,
    stop: () => agent.stop().finally(unlock),
    kill: () => {
      agent.kill();
      unlock();
    },
  };
}

/** Whether keys are required: they are when the region can be reached from elsewhere, or lists some. */
function checkHost(host: string, file: RegionFile): boolean {
  const loopback = host === "localhost" || host === "::1" || host.startsWith("127.");
  if (!loopback && !file.keys.some((key) => key.admin)) {
    throw new UserError(
      "PENSTOCK_KEYS_NEEDED",
      `The region would listen on ${host}, where others can reach it, and no key with admin: true is listed`,
      "List one under `keys` in the region file (`penstock key hash` makes its sha256), or listen on 127.0.0.1.",
    );
  }
  return !loopback || file.keys.length > 0;
}

/** Port of a replica in the snapshot that the router keeps, or 0. */
function lastPortOf(snapshotFile: string, id: ReplicaId, log: Log): number {
  const snapshot = readSnapshot(snapshotFile, (why) => log.warn("ROUTER_SNAPSHOT_UNREADABLE", { why }));
  const versions = snapshot?.versions ?? [];
  return versions.flatMap(({ replicas }) => replicas).find((replica) => replica.id === id)?.address.port ?? 0;
}

function urlHost(host: string): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return reachable.includes(":") ? `[${reachable}]` : reachable;
}
