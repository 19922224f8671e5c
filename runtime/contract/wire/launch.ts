import type { Epoch, ReplicaId } from "../../domain/names.ts";
import type { Version } from "../../domain/version.ts";

/** What an agent hands a keeper on start (ENV.replicaLaunch). */
export interface ReplicaLaunch {
  readonly id: ReplicaId;
  readonly epoch: Epoch;
  readonly version: Version;
  /** Unix socket of the controller. */
  readonly controllerSocket: string;
  /** The region's data folder. */
  readonly dataDir: string;
  /** Address to listen on. */
  readonly host: string;
  /** Port to listen on where it is free; 0: the system's choice. Which one it became is reported. */
  readonly port: number;
}

/** What an agent hands a router on start (ENV.routerLaunch). */
export interface RouterLaunch {
  readonly name: string;
  readonly epoch: Epoch;
  readonly host: string;
  readonly port: number;
  readonly threads: number;
  readonly controllerSocket: string;
  /** Unix socket of the controller's HTTP API (console, API, metrics). */
  readonly apiSocket: string;
  /** File where the last snapshot is kept. */
  readonly snapshotFile: string;
}

/** A law to run in shadow: its name, and the module whose default export it is. */
export interface ShadowSource {
  readonly name: string;
  readonly module: string;
}

/** What an agent hands the controller on start (ENV.controllerLaunch). */
export interface ControllerLaunch {
  readonly region: string;
  readonly dataDir: string;
  readonly controllerSocket: string;
  readonly apiSocket: string;
  /** Where clients reach the region, for links in answers and on the console. */
  readonly baseUrl: string;
  /** Path of the region file. */
  readonly regionFile: string;
  /** Keys are required (bound elsewhere than loopback, or asked for). */
  readonly keysRequired: boolean;
  /** Laws to run in shadow; `module` is an absolute path. */
  readonly shadows: readonly ShadowSource[];
}
