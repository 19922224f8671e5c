import type { QueueBounds } from "../../domain/endpoint.ts";
import type { EndpointName, Epoch, ReplicaId, VersionId } from "../../domain/names.ts";
import type { Address } from "../../domain/replica.ts";
import { DeadlineList, FairQueue, type Waiter } from "./queue.ts";
import { RetryBudget } from "./retry-budget.ts";

/** What the tables must know of a request; the shell's own request object carries it. */
export interface Asked {
  /** Who is asking (tenant or key): the queue is fair between these. */
  readonly workload: string;
  /** Bytes held in memory while it waits. */
  readonly bodyBytes: number;
  /** What it costs a replica, in units of the version's hard cap: 1 for classic models. A whole number above 0. */
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

/** A version's row in one thread. */
export class VersionTable<R extends Asked> {
  readonly id: VersionId;
  readonly endpoint: EndpointName;
  readonly slot: number;
  hardCap = 0;
  /** Left the snapshot: nothing new is sent to it. */
  removed = false;
  /** Seats that may get new requests (neither draining nor gone), and their slots beside them for the scan. */
  seats: readonly Seat[] = [];
  slots: Int32Array = new Int32Array(0);
  readonly line = new FairQueue<Lease<R>>((lease) => lease.request.workload);
  /** Requests that lost a seat and wait for another one: few, served before the line. */
  readonly again = new DeadlineList<Lease<R>>();
  readonly budget = new RetryBudget();
  /** Last reading of panic, kept by Faults. */
  panics = false;
  panicReadAtMs = Number.NEGATIVE_INFINITY;

  constructor(id: VersionId, endpoint: EndpointName, slot: number) {
    this.id = id;
    this.endpoint = endpoint;
    this.slot = slot;
  }

  /** Whether anything of this thread waits for it. */
  get waits(): boolean {
    return this.line.size > 0 || this.again.first !== null;
  }
}

/** An endpoint's row in one thread. */
export class EndpointTable<R extends Asked> {
  readonly name: EndpointName;
  readonly slot: number;
  queue: QueueBounds = { maxRequests: 0, maxBytes: 0, maxWaitMs: 0 };
  /** Versions with a weight above 0. */
  split: readonly { readonly version: VersionTable<R>; readonly weight: number }[] = [];
  removed = false;

  constructor(name: EndpointName, slot: number) {
    this.name = name;
    this.slot = slot;
  }
}

/**
 * One admitted request's reservation: made by `admit`, settled exactly once. It is charged to `seat`, or waits while
 * `seat` is null. FlowThread alone changes it; the shell reads it.
 */
export class Lease<R extends Asked> implements Waiter<Lease<R>> {
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
  /** Until when it may wait: set when it first waits and kept over retries; 0 before. */
  waitUntilMs = 0;
  /** Which list of its version it waits in. */
  waitsIn: "line" | "again" | null = null;
  /** How often it was sent again after a fault. */
  retries = 0;
  firstByteSeen = false;
  /** It is the half-open probe of its seat. */
  probing = false;
  /** Seats that failed or refused it; none of them is picked for it before `triedUntilMs`. */
  tried: Seat[] | null = null;
  triedUntilMs = 0;
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
}
