import { createServer, type Server, type Socket } from "node:net";
import { seededUniform } from "../../core/prng.ts";
import type { RequestSpan, Tap } from "../../ports/tap.ts";
import { FlowThread } from "../flow/flow-thread.ts";
import type { Lease, Seat } from "../flow/lease.ts";
import { openFlowMemory } from "../flow/memory.ts";
import type { SlotPlan } from "../flow/slots.ts";
import { Deadlines } from "./deadlines.ts";
import { Directory } from "./directory.ts";
import { dispatch } from "./dispatch.ts";
import type { Exchange } from "./exchange.ts";
import { DEFAULT_LIMITS, type Http1Limits } from "./http1/limits.ts";
import type { RequestHead } from "./http1/request-head.ts";
import { nowMs } from "./mono.ts";
import { ClientConnection, type ConnectionHost, type RequestHandler } from "./server/connection.ts";
import type { ThreadContext } from "./thread-context.ts";
import type { FromThread, ThreadStart } from "./thread-messages.ts";
import { UpstreamPool } from "./upstream/pool.ts";

/** Larger bodies are streamed: below this a request costs less memory than the sockets it uses. */
const STREAM_BODY_BYTES = 1_048_576;
/** Spans are handed to main in batches of at most this many, and each second. */
const SPAN_BATCH = 64;
const SPAN_FLUSH_MS = 1_000;

/** One thread of a router: its listening socket, connections, pools and flow tables. Knows nothing of worker threads. */
export class RouterThread implements ThreadContext, ConnectionHost {
  readonly flow: FlowThread<Exchange>;
  readonly deadlines = new Deadlines();
  readonly limits: Http1Limits;
  readonly tap: Tap | null;
  readonly streamBodyBytes = STREAM_BODY_BYTES;
  readonly regionPool: UpstreamPool;
  readonly draw: () => number;
  directory: Directory;
  isStopping = false;
  readonly #post: (message: FromThread) => void;
  readonly #server: Server;
  readonly #listen: ThreadStart["listen"];
  readonly #connections = new Set<ClientConnection>();
  readonly #pools = new Map<Seat, UpstreamPool>();
  readonly #idPrefix: string;
  #requests = 0;
  #pumping = false;
  #pumpAgain = false;
  #wakeTimer: NodeJS.Timeout | null = null;
  #wakeTimerAtMs = Number.POSITIVE_INFINITY;

  constructor(start: ThreadStart, post: (message: FromThread) => void, limits: Http1Limits = DEFAULT_LIMITS) {
    this.limits = limits;
    this.#post = post;
    this.#listen = start.listen;
    this.draw = seededUniform(start.seed);
    this.#idPrefix = `req-${start.seed.toString(36)}-`;
    this.flow = new FlowThread<Exchange>(openFlowMemory(start.memory), start.thread, this.draw);
    // Calls are rare, and a restarted controller must not be met through an old socket: none is kept.
    this.regionPool = new UpstreamPool({ path: start.apiSocket }, limits, this.deadlines, 0);
    this.tap = start.tapping ? new SpanBatches((spans) => post({ kind: "spans", spans })) : null;
    this.directory = new Directory(start.plan.snapshot);
    this.flow.applyPlan(start.plan, nowMs());
    this.#server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) =>
      this.#accept(socket),
    );
    void this.#heedDoorbell();
  }

  /** Listens beside the other threads. Rejects where it can't. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ ...this.#listen, reusePort: true, backlog: 4_096 }, () => {
        const address = this.#server.address();
        resolve(address !== null && typeof address === "object" ? address.port : 0);
      });
    });
  }

  applyPlan(plan: SlotPlan): void {
    this.directory = new Directory(plan.snapshot);
    this.flow.applyPlan(plan, nowMs());
    const present = new Set(
      plan.snapshot.versions.flatMap(({ replicas }) => replicas.map(({ id, epoch }) => `${id}@${epoch}`)),
    );
    for (const [seat, pool] of this.#pools) {
      if (present.has(`${seat.replica}@${seat.epoch}`)) continue;
      pool.close();
      this.#pools.delete(seat);
    }
    this.pump();
  }

  /** Takes no new connections and requests; `stopped` is posted once the last request has ended. */
  stop(): void {
    this.isStopping = true;
    this.#server.close();
    for (const connection of this.#connections) connection.stop();
    this.#checkStopped();
  }

  handle(connection: ClientConnection, head: RequestHead): RequestHandler {
    return dispatch(this, connection, head);
  }

  onClose(connection: ClientConnection): void {
    this.#connections.delete(connection);
    this.#checkStopped();
  }

  poolOf(seat: Seat): UpstreamPool {
    let pool = this.#pools.get(seat);
    if (pool === undefined) {
      pool = new UpstreamPool(seat.address, this.limits, this.deadlines);
      this.#pools.set(seat, pool);
    }
    return pool;
  }

  pump(): void {
    if (!this.flow.anyWaiting && this.#wakeTimer === null) return;
    this.#pumpAgain = true;
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#pumpAgain) {
      this.#pumpAgain = false;
      const now = nowMs();
      for (let ready = this.flow.takeReady(now); ready !== null; ready = this.flow.takeReady(now)) ready.request.send();
      for (let late = this.flow.takeExpired(now); late !== null; late = this.flow.takeExpired(now))
        late.request.expire();
    }
    this.#pumping = false;
    this.#setWakeTimer();
  }

  wake(lease: Lease<Exchange>): void {
    this.#post({ kind: "wake", version: lease.version.id });
  }

  newRequestId(): string {
    this.#requests++;
    return this.#idPrefix + this.#requests.toString(36);
  }

  #accept(socket: Socket): void {
    if (this.#connections.size >= this.limits.connections) socket.destroy();
    else this.#connections.add(new ClientConnection(socket, this));
  }

  /** A timer that fires early costs one look more; moving it with each request that passes costs a list operation for each. */
  #setWakeTimer(): void {
    const now = nowMs();
    const wakeAtMs = this.flow.wakeAtMs(now);
    if (wakeAtMs >= this.#wakeTimerAtMs) return;
    if (this.#wakeTimer !== null) clearTimeout(this.#wakeTimer);
    this.#wakeTimerAtMs = wakeAtMs;
    this.#wakeTimer = setTimeout(
      () => {
        this.#wakeTimer = null;
        this.#wakeTimerAtMs = Number.POSITIVE_INFINITY;
        this.pump();
      },
      Math.max(1, wakeAtMs - now),
    );
  }

  /** Another thread freed room that a request waiting here may use. */
  async #heedDoorbell(): Promise<void> {
    const { cells, index } = this.flow.doorbell;
    for (;;) {
      const seen = Atomics.load(cells, index);
      this.pump();
      const ring = Atomics.waitAsync(cells, index, seen);
      if (ring.async) await ring.value;
    }
  }

  #checkStopped(): void {
    if (this.isStopping && this.#connections.size === 0) this.#post({ kind: "stopped" });
  }
}

/** Gathers spans so that main gets few messages. */
class SpanBatches implements Tap {
  readonly #send: (spans: readonly RequestSpan[]) => void;
  #spans: RequestSpan[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(send: (spans: readonly RequestSpan[]) => void) {
    this.#send = send;
  }

  requestEnded(span: RequestSpan): void {
    this.#spans.push(span);
    if (this.#spans.length >= SPAN_BATCH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), SPAN_FLUSH_MS);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#send(this.#spans);
    this.#spans = [];
  }
}
