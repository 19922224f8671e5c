import type { Tap } from "../../ports/tap.ts";
import type { FlowThread } from "../flow/flow-thread.ts";
import type { Lease, Seat } from "../flow/lease.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Directory } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import type { Http1Limits } from "./http1/limits.ts";
import type { UpstreamPool } from "./upstream/pool.ts";

/** What all exchanges of one router thread share. */
export interface ThreadContext {
  readonly flow: FlowThread<Exchange>;
  readonly directory: Directory;
  readonly deadlines: Deadlines;
  readonly limits: Http1Limits;
  readonly tap: Tap | null;
  /** Requests with a larger body are sent on while they come in, and can't be sent a second time. */
  readonly streamBodyBytes: number;
  /** The controller's HTTP API. */
  readonly regionPool: UpstreamPool;
  poolOf(seat: Seat): UpstreamPool;
  /** Hands out leases that got a seat, answers those whose time is up. Called after whatever may free room. */
  pump(): void;
  /** A request waits and nothing has room. */
  wake(lease: Lease<Exchange>): void;
  newRequestId(): string;
  /** Uniform in [0, 1). */
  draw(): number;
}
