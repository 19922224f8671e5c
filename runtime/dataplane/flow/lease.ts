import type { EndpointName, Epoch, ReplicaId, VersionId } from "../../domain/names.ts";
import type { Address } from "../../domain/replica.ts";
import type { EndpointTable, VersionTable } from "./tables.ts";

/** What the tables must know of a request; the shell's own request object carries it. */
export interface Asked {
  /** Who is asking (tenant or key): the queue is fair between these. */
  readonly workload: string;
  /** Bytes held in memory while it waits. */
  readonly bodyBytes: number;
  /** What it costs a replica, in units of the version's hard cap: 1 for classic models. A whole number. */
  readonly cost: number;
  /** May be sent again after a replica saw it: the endpoint is idempotent or the client sent an Idempotency-Key. */
  readonly mayRepeat: boolean;
}

/** One epoch of one replica as a thread sees it. The same object as long as the epoch lives. */
export interface Seat {
  readonly replica: ReplicaId;
  readonly epoch: Epoch;
  readonly version: VersionId;
  readonly address: Address;
  readonly basePath: string;
  /** Index of its cells, and a small dense number to key upstream pools by; used again only after this epoch is idle. */
  readonly slot: number;
}

/** Why a request got no lease. Which status that becomes is the door's to say. */
export type Refusal = "unknown-endpoint" | "no-version" | "queue-full";

/** How a request ended: `timed-out` is the request's own deadline, `cancelled` the router's wish. */
export type Outcome = "completed" | "failed" | "client-gone" | "timed-out" | "cancelled";

/** What a replica did wrong. `error-status` is a 5xx; 4xx and clients that leave are not faults. */
export type FaultKind = "connect-refused" | "connect-timeout" | "reset" | "error-status" | "timeout";

/** What a fault led to. `ignored`: a time-out while the replica made progress for others, so it is load and no fault. */
export type FaultVerdict = "ignored" | "counted" | "excluded" | "ejected";

/** Where a request stands after its replica was lost. `denied`: still charged there, and to be settled by the caller. */
export type Moved = "moved" | "waiting" | "denied";

/**
 * One admitted request's reservation: made by `admit`, settled exactly once. It is charged to `seat`, or waits while
 * `seat` is null. Fields belong to FlowThread; the shell reads them.
 */
export class Lease<R extends Asked> {
  readonly request: R;
  readonly endpoint: EndpointTable<R>;
  version: VersionTable<R>;
  seat: Seat | null = null;
  settled = false;
  /** The first waiting request of its version in the whole process: the caller tells the controller (Wake). */
  risingEdge = false;
  readonly arrivedAtMs: number;
  /** When it was last charged to a seat. */
  sentAtMs = 0;
  /** Until when it may wait; set when it first waits, and kept over retries. */
  waitUntilMs = 0;
  /** Sent again after a fault, so often. */
  retries = 0;
  firstByteSeen = false;
  /** It is the half-open probe of its seat. */
  probing = false;
  /** Seats that failed or refused it; not picked for it before `triedUntilMs`. */
  tried: Seat[] | null = null;
  triedUntilMs = 0;
  /** Links of the queue it waits in. */
  nextInKey: Lease<R> | null = null;
  previousInKey: Lease<R> | null = null;
  nextByAge: Lease<R> | null = null;
  previousByAge: Lease<R> | null = null;

  constructor(request: R, endpoint: EndpointTable<R>, version: VersionTable<R>, arrivedAtMs: number) {
    this.request = request;
    this.endpoint = endpoint;
    this.version = version;
    this.arrivedAtMs = arrivedAtMs;
  }

  get endpointName(): EndpointName {
    return this.endpoint.name;
  }
}
