import { Pool } from "../../../cli/load/pool.ts";
import type { Address } from "../../../runtime/domain/replica.ts";

/** A refused request comes again after this long: a router's queue would try as soon as another request ends. */
const REFUSED_PAUSE_MS = 5;
const REQUEST_TIMEOUT_MS = 120_000;
/** What a higher level left in flight is answered within this time, or else disturbs the next level. */
const DRAIN_MOST_MS = 10_000;
const DRAIN_POLL_MS = 5;
const MAX_CONNECTIONS = 8_192;
/** A replica at its cap refuses with this status. */
const REFUSED = 503;

/** What was seen of requests between two moments. */
export interface Seen {
  readonly perSecond: number;
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly inFlight: number;
  readonly completed: number;
}

/** Holds a fixed number of requests in flight at one replica, each sent anew when it is answered, and counts as a router does. */
export class ClosedLoop {
  readonly #pool: Pool;
  readonly #bytes: Buffer;
  readonly #expire: NodeJS.Timeout;
  #target = 0;
  #senders = 0;
  #closed = false;
  #inFlight = 0;
  #changedAtMs = performance.now();
  #inFlightMs = 0;
  #latencies: number[] | null = null;
  completed = 0;
  serviceMsTotal = 0;
  /** Answers that were neither good nor a refusal, and the last one's kind. */
  failed = 0;
  failure = "";
  /** Called with each request's service time and how many were in flight when it ended. */
  onSample: ((serviceMs: number, inFlight: number) => void) | null = null;

  constructor(address: Address, path: string, body: string) {
    this.#pool = new Pool(address, MAX_CONNECTIONS);
    const head = `POST ${path} HTTP/1.1\r\nhost: ${address.host}:${address.port}\r\ncontent-type: application/json`;
    this.#bytes = Buffer.from(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    this.#expire = setInterval(() => this.#pool.expire(performance.now()), 1_000);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Request-milliseconds spent in flight so far. */
  get inFlightMsTotal(): number {
    this.#account(0);
    return this.#inFlightMs;
  }

  /** Holds this many requests in flight from now on; surplus ones end when they are answered. */
  hold(target: number): void {
    this.#target = target;
    while (this.#senders < target) {
      this.#senders++;
      this.#send();
    }
  }

  /** Waits until no more than `target` are in flight, holds it for `settleMs` and then measures for `ms`. */
  async measure(target: number, settleMs: number, ms: number): Promise<Seen> {
    this.hold(target);
    for (let waitedMs = 0; this.#inFlight > target && waitedMs < DRAIN_MOST_MS; waitedMs += DRAIN_POLL_MS) {
      await pause(DRAIN_POLL_MS);
    }
    await pause(settleMs);
    const latencies: number[] = [];
    this.#latencies = latencies;
    const from = { atMs: performance.now(), inFlightMs: this.inFlightMsTotal };
    await pause(ms);
    this.#latencies = null;
    const tookMs = performance.now() - from.atMs;
    const sorted = latencies.toSorted((a, b) => a - b);
    return {
      perSecond: (latencies.length / tookMs) * 1_000,
      meanMs: latencies.reduce((sum, latency) => sum + latency, 0) / Math.max(1, latencies.length),
      p99Ms: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.NaN,
      inFlight: (this.inFlightMsTotal - from.inFlightMs) / tookMs,
      completed: latencies.length,
    };
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#expire);
    this.#pool.close();
  }

  #send(): void {
    if (this.#closed) return;
    const sentMs = performance.now();
    this.#account(1);
    this.#pool.send({
      bytes: this.#bytes,
      deadlineMs: sentMs + REQUEST_TIMEOUT_MS,
      sent: () => {},
      body: () => {},
      end: (status) => this.#ended(status, performance.now() - sentMs),
      fail: (kind) => {
        this.#account(-1);
        this.#lost(kind);
      },
    });
  }

  #ended(status: number, serviceMs: number): void {
    const inFlight = this.#inFlight;
    this.#account(-1);
    if (status === REFUSED) this.#again(REFUSED_PAUSE_MS);
    else if (status >= 400) this.#lost(`status ${status}`);
    else {
      this.completed++;
      this.serviceMsTotal += serviceMs;
      this.#latencies?.push(serviceMs);
      this.onSample?.(serviceMs, inFlight);
      if (this.#senders > this.#target) this.#senders--;
      else this.#send();
    }
  }

  #lost(kind: string): void {
    if (this.#closed) return;
    this.failed++;
    this.failure = kind;
    this.#again(100);
  }

  #again(afterMs: number): void {
    if (this.#senders > this.#target) this.#senders--;
    else setTimeout(() => this.#send(), afterMs);
  }

  #account(change: number): void {
    const nowMs = performance.now();
    this.#inFlightMs += this.#inFlight * (nowMs - this.#changedAtMs);
    this.#changedAtMs = nowMs;
    this.#inFlight += change;
  }
}

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
