import { type Exchange, Pool } from "./pool.ts";
import type { Segment } from "./profile.ts";
import { type Arrivals, arrivalTimes, type Share } from "./schedule.ts";
import { Tally } from "./tally.ts";

/**
 * Shortest and longest sleep: requests that fall due within a timer's millisecond are sent together (their latency
 * counts from when they were due all the same); a stop or a time-out is seen after the longest.
 */
const MIN_SLEEP_MS = 1;
const MAX_SLEEP_MS = 20;
const EXPIRE_EVERY_MS = 100;
const DATA = Buffer.from("data:");

/** A run of load, the same for every thread but for its share. Plain data, so that it can be handed to a thread. */
export interface LoadPlan {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Body of each request; every `{{n}}` becomes the request's number. */
  readonly body: string;
  readonly profile: readonly Segment[];
  readonly arrivals: Arrivals;
  readonly seed: number;
  readonly maxConnections: number;
  readonly timeoutMs: number;
  /** Answers are server-sent events of tokens. */
  readonly streamed: boolean;
}

/** Sends one thread's share of a plan, open loop: a request goes out when it is due, whatever became of those before it. */
export class LoadGenerator {
  readonly tally = new Tally();
  readonly #plan: LoadPlan;
  readonly #due: ReturnType<typeof arrivalTimes>;
  readonly #pool: Pool;
  readonly #requestBytes: (n: number) => Buffer;
  readonly #firstNumber: number;
  readonly #step: number;
  #next: number | null;
  #stopped = false;

  constructor(plan: LoadPlan, share: Share) {
    this.#plan = plan;
    this.#due = arrivalTimes(plan.profile, plan.arrivals, plan.seed, share);
    this.#pool = new Pool(
      { host: plan.host, port: plan.port },
      Math.max(1, Math.floor(plan.maxConnections / share.count)),
    );
    this.#requestBytes = requestMaker(plan);
    this.#firstNumber = share.index;
    this.#step = share.count;
    this.#next = this.#takeDue();
  }

  /** Resolves once the schedule is over (or stopped) and every request has ended one way or the other. */
  async run(): Promise<Tally> {
    const startedAtMs = performance.now();
    let expiredAtMs = startedAtMs;
    while (this.#next !== null || this.tally.inFlight > 0) {
      const nowMs = performance.now();
      this.#sendDue(startedAtMs, nowMs);
      if (nowMs - expiredAtMs >= EXPIRE_EVERY_MS) {
        this.#pool.expire(nowMs);
        expiredAtMs = nowMs;
      }
      this.tally.connections = this.#pool.connections;
      const untilDueMs = this.#next === null ? MAX_SLEEP_MS : startedAtMs + this.#next - performance.now();
      const sleepMs = Math.min(MAX_SLEEP_MS, Math.max(MIN_SLEEP_MS, Math.floor(untilDueMs)));
      await new Promise((resolve) => setTimeout(resolve, sleepMs));
    }
    this.#pool.close();
    return this.tally;
  }

  /** Sends nothing more; requests in flight end within `graceMs` or count as stopped. */
  stop(graceMs: number): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#next = null;
    setTimeout(() => this.#pool.close(), graceMs).unref();
  }

  #sendDue(startedAtMs: number, nowMs: number): void {
    while (this.#next !== null && startedAtMs + this.#next <= nowMs) {
      const dueAtMs = startedAtMs + this.#next;
      const number = this.#firstNumber + this.tally.sent * this.#step;
      this.tally.sent += 1;
      this.tally.inFlight += 1;
      this.#pool.send(this.#exchange(number, dueAtMs));
      this.#next = this.#takeDue();
    }
  }

  #takeDue(): number | null {
    const next = this.#due.next();
    return next.done === true ? null : next.value;
  }

  #exchange(number: number, dueAtMs: number): Exchange {
    const { tally } = this;
    const tokens = this.#plan.streamed ? new TokenClock(tally, dueAtMs) : null;
    const end = (): void => {
      tally.inFlight -= 1;
    };
    return {
      bytes: this.#requestBytes(number),
      deadlineMs: dueAtMs + this.#plan.timeoutMs,
      sent: () => tally.sendLag.record(performance.now() - dueAtMs),
      body: (piece) => {
        tally.bytes += piece.length;
        tokens?.take(piece);
      },
      end: (status) => {
        tally.status(status);
        if (status < 400) tally.latency.record(performance.now() - dueAtMs);
        end();
      },
      fail: (kind) => {
        tally.error(kind);
        end();
      },
    };
  }
}

/** Times the events of a streamed answer: one event is one token (or the few that an engine sends together). */
class TokenClock {
  readonly #tally: Tally;
  readonly #dueAtMs: number;
  #lastAtMs: number | null = null;

  constructor(tally: Tally, dueAtMs: number) {
    this.#tally = tally;
    this.#dueAtMs = dueAtMs;
  }

  take(piece: Buffer): void {
    let events = 0;
    for (let at = piece.indexOf(DATA); at >= 0; at = piece.indexOf(DATA, at + DATA.length)) {
      if (!piece.subarray(at, at + 14).includes("[DONE]")) events += 1;
    }
    if (events === 0) return;
    const nowMs = performance.now();
    this.#tally.tokens += events;
    if (this.#lastAtMs === null) this.#tally.firstToken.record(nowMs - this.#dueAtMs);
    else this.#tally.betweenTokens.record((nowMs - this.#lastAtMs) / events, events);
    this.#lastAtMs = nowMs;
  }
}

/** Makes the bytes of request n: once for all where the body does not speak of n. */
function requestMaker({ host, port, path, headers, body }: LoadPlan): (n: number) => Buffer {
  const make = (text: string): Buffer => {
    const fields = { host: `${host}:${port}`, "content-type": "application/json", ...headers };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const length = Buffer.byteLength(text);
    return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}content-length: ${length}\r\n\r\n${text}`);
  };
  if (!body.includes("{{n}}")) {
    const bytes = make(body);
    return () => bytes;
  }
  return (n) => make(body.replaceAll("{{n}}", String(n)));
}
