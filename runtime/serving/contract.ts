import type { ReplicaLaunch } from "../contract/wire/launch.ts";
import type { Address } from "../domain/replica.ts";
import type { ReplicaCounters } from "./replica-counters.ts";

/**
 * The replica contract: what every kind of model offers, whatever runs it.
 * In-process engines (onnx, gguf) implement `InProcessRuntime`; engines that are programs of their own (mlflow, custom)
 * implement `StartChildEngine`. The keeper knows both only through this file and `replica-counters.ts`.
 */

/** A minimal real request of one request class: warm-up, onboarding probe and canary send it over loopback. */
export interface ProbeRequest {
  /** Name of the request class; one of the engine's `classes`. */
  readonly requestClass: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Its input was made up from the signature and may be refused for good reason: a failure does not hold up readiness. */
  readonly madeUp?: true;
}

/** What the keeper sends on its own account. */
export interface Probes {
  /** One per request class, typical in size: repeated until it stops getting faster; the first one also finds the knee. */
  readonly warmUps: readonly ProbeRequest[];
  /** One per request class, as small as can be (one token, one row). */
  readonly canaries: readonly ProbeRequest[];
}

/** A request as an engine sees it, its body read whole. */
export interface ServingRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Value of a header by its lower-case name, or null. */
  header(name: string): string | null;
  readonly body: Buffer;
  /** A canary or warm-up of this replica's own keeper: it must not move load counters. */
  readonly probe: boolean;
  /** Calls back once if the client goes away before the answer's end. */
  onClientGone(callback: () => void): void;
}

/** An answer: whole, or as pieces that are sent as they come. */
export interface ServingAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | AsyncIterable<string>;
}

/** What serves one path. `requestClass` null: metadata, neither counted nor bounded by the replica's cap. */
export interface Route {
  readonly requestClass: string | null;
  /** Bad input is an answer in the door's own error shape; a throw is a fault of the replica (500). */
  handle(request: ServingRequest): ServingAnswer | Promise<ServingAnswer>;
}

/** A loaded model inside this process. */
export interface Engine {
  readonly probes: Probes;
  /** Most requests it holds at once, or null where only `run.maxInFlight` bounds it. */
  readonly maxInFlight: number | null;
  /** The route of a path (already without query), or null: 404. */
  route(method: string, path: string): Route | null;
  /** Writes its gauges (batch size, sequences, KV use) into the counters; called about once a second. */
  refreshGauges(): void;
  /** Frees the model. Nothing is in flight any more. */
  close(): Promise<void>;
}

/** What an engine needs to start. */
export interface EngineContext {
  readonly launch: ReplicaLaunch;
  readonly counters: ReplicaCounters;
}

/** A runtime whose engines live inside the replica's own process. */
export interface InProcessRuntime {
  /** Names of its request classes, in the order of the counters' rows; at most MAX_REQUEST_CLASSES. */
  readonly classes: readonly string[];
  /** Loads the model of `launch.version`. Errors: UserError where the artifact is at fault. */
  start(context: EngineContext): Promise<Engine>;
}

/** What an engine in processes of its own needs to start. */
export interface ChildContext {
  readonly launch: ReplicaLaunch;
  /** The keeper's own environment, to be passed on with changes. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A folder of this replica's own, empty at the start; counters files, sockets and scratch go there. */
  readonly scratchDir: string;
  /** Value of HEADERS.probe in the keeper's own requests: an engine that counts leaves these out of its load counters. */
  readonly probeSecret: string;
  /** A free port of `launch.host` that the engine may listen on. */
  readonly port: number;
  /** Lines of the engine's stdout and stderr. */
  log(line: string): void;
}

/** An engine that runs as processes beside the keeper (or elsewhere). Started, not necessarily ready. */
export interface RunningEngine {
  readonly address: Address;
  /** GET of `path` answers with a status below `statusBelow` once the model is loaded. */
  readonly readiness: { readonly path: string; readonly statusBelow: number };
  /** Names of the request classes, in the order of the rows in its counters files; at most MAX_REQUEST_CLASSES. */
  readonly classes: readonly string[];
  readonly probes: Probes;
  /**
   * Files in the layout of replica-counters.ts, one per worker process, which the keeper reads each second and sums.
   * Empty where the engine counts nothing: then only canaries tell that it lives.
   */
  readonly countersFiles: readonly string[];
  /** Processes whose resources (with all their descendants) are the replica's. Empty where it runs elsewhere. */
  rootPids(): readonly number[];
  /** Sends the signal to the engine's processes and all their descendants. Does nothing where it runs elsewhere. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** Resolves when the engine has ended, whoever ended it; never resolves where it runs elsewhere. */
  readonly exited: Promise<EngineExit>;
}

/** How an engine's process ended. */
export interface EngineExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Starts the engine of `launch.version`. Errors: UserError where the artifact or its environment is at fault. */
export type StartChildEngine = (context: ChildContext) => Promise<RunningEngine>;
