import type { Because, Plain } from "../../core/controller.ts";
import type { WallMs } from "../../core/time.ts";
import type { ApiKeys, BoardView, FactName } from "../../domain/board.ts";
import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { EndpointName } from "../../domain/names.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DecisionLog, DecisionRecord } from "../../ports/stores.ts";
import type { LogBook } from "../logs/log-book.ts";
import type { DecisionCount } from "../telemetry/metrics.ts";

/** What the region is, for links and for people. */
export interface RegionInfo {
  readonly region: string;
  /** Where clients reach the region: no slash at the end. */
  readonly baseUrl: string;
  readonly dataDir: string;
  /** Path of the region file. */
  readonly regionFile: string;
  readonly startedAtMs: WallMs;
  /** Grows with each start of the controller. */
  readonly incarnation: number;
}

/** A decision made again from its record. */
export interface Replayed {
  readonly because: Because;
  readonly output: Plain;
}

/**
 * All that the API needs of a region; the controller process implements it. Every call is synchronous, so that a
 * check against the Board and the write that follows it are one turn. A write is on disk when the call returns.
 * Errors: a UserError when the state can't be written (disk full, read-only folder).
 */
export interface RegionOperations {
  readonly info: RegionInfo;
  readonly clock: Clock;
  readonly board: BoardView;
  readonly decisions: DecisionLog;
  /** Decisions made since the start, by controller and reason: the log itself is bounded and holds changes only. */
  decisionCounts(): readonly DecisionCount[];
  readonly logs: LogBook;
  /** The laws that run in shadow, each with the controller it runs beside. */
  readonly shadows: readonly { readonly name: string; readonly controller: string }[];
  /** Calls back in the turn in which a fact changes or goes; the returned function ends it. The callback must be cheap. */
  watch(observer: (fact: FactName, key: string) => void): () => void;
  /** Writes the `spec` fact. The API has made the spec (specOf) and checked its generation and origin. */
  applySpec(spec: EndpointSpec): void;
  /** Removes the spec and all that follows from it: versions drain, then go. */
  removeEndpoint(name: EndpointName): void;
  /** Looks at the artifact again although the spec is the same: an unchanged path may hold changed files. May raise the generation. */
  redeploy(name: EndpointName): void;
  /** Writes the `keys` fact, with what the region file adds left as it is. */
  applyKeys(keys: ApiKeys["keys"]): void;
  /** Makes a recorded decision again; null when it was not recorded whole or its controller is unknown here. */
  replay(record: DecisionRecord): Replayed | null;
}
