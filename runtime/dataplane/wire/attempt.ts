import type { SnapshotEndpoint } from "../../domain/snapshot.ts";
import type { TraceContext } from "../../ports/tap.ts";
import type { FaultKind, Lease, Moved, Outcome } from "../flow/lease.ts";
import { AnswerRelay } from "./answer-relay.ts";
import type { Deadlined } from "./deadlines.ts";
import { problemBody } from "./doors/problem.ts";
import type { Exchange } from "./exchange.ts";
import type { ResponseHead } from "./http1/response-head.ts";
import { nowMs } from "./mono.ts";
import { type Loss, lossProblem } from "./problems.ts";
import { traceOf, traceparentOf } from "./trace.ts";
import type { UpstreamConnection, UpstreamFault, UpstreamUser } from "./upstream/connection.ts";
import { chunkOf, LAST_CHUNK, upstreamHead } from "./upstream-head.ts";

/** Bodies up to this size travel in one write with their head. */
const JOIN_BYTES = 16_384;
/** How often the tables are told that a stream goes on. */
const PROGRESS_MS = 100;

/**
 * Sends one exchange's request to the replica of its lease and relays the answer, with a watchdog on each stage. Moves to
 * another replica while nothing of an answer has reached the client and the tables allow it.
 */
export class Attempt implements UpstreamUser, Deadlined {
  readonly #exchange: Exchange;
  readonly #lease: Lease<Exchange>;
  readonly #endpoint: SnapshotEndpoint;
  readonly #relay: AnswerRelay;
  readonly #requestDeadlineMs: number;
  readonly #trace: TraceContext | null;
  #upstream: UpstreamConnection | null = null;
  #stage: "connect" | "first-byte" | "answer" | "discard" | "over" = "connect";
  #isFreshOnly = false;
  #sentOn = 0;
  #status = 0;
  #firstByteAtMs: number | null = null;
  #progressToldAtMs = 0;
  /** The body is sent on as it comes. */
  isStreamingBody = false;
  deadlineMs = Number.POSITIVE_INFINITY;
  deadlineIndex = -1;

  constructor(exchange: Exchange, lease: Lease<Exchange>, endpoint: SnapshotEndpoint) {
    this.#exchange = exchange;
    this.#lease = lease;
    this.#endpoint = endpoint;
    this.#relay = new AnswerRelay(exchange.client, exchange.head);
    this.#requestDeadlineMs = exchange.arrivedAtMs + endpoint.timeouts.requestMs;
    this.#trace = traceOf(exchange.head.traceparent, endpoint.traceSampleRatio, exchange.thread.draw());
  }

  /** Sends to the lease's seat. */
  send(): void {
    const { thread, head, body, client, requestId, call } = this.#exchange;
    const seat = this.#lease.seat!;
    const upstream = thread.poolOf(seat).acquire(this.#isFreshOnly);
    this.#upstream = upstream;
    this.#sentOn++;
    const { framing } = head;
    const isComplete = body.isComplete;
    const whole = body.bytes === 0 && framing.kind === "none" ? -1 : body.bytes;
    const streamed = framing.kind === "length" ? framing.bytes : null;
    const text = upstreamHead({
      request: head,
      path: seat.basePath === "" ? call.path : seat.basePath + call.path,
      remoteAddress: client.remoteAddress,
      requestId,
      host: `${seat.address.host}:${seat.address.port}`,
      traceparent: this.#trace === null ? head.traceparent : traceparentOf(this.#trace),
      contentLength: isComplete ? whole : streamed,
      passCredentials: exchangePassesCredentials(this.#exchange),
    });
    thread.deadlines.add(this);
    this.#enter(upstream.isConnected ? "first-byte" : "connect");
    if (isComplete) this.#sendWhole(upstream, text);
    else this.#startStreaming(upstream, text, streamed === null);
  }

  #sendWhole(upstream: UpstreamConnection, text: string): void {
    const { body, head } = this.#exchange;
    if (body.bytes === 0) upstream.start(this, head.method, text, true);
    else if (body.bytes <= JOIN_BYTES) {
      upstream.start(this, head.method, text + body.joined().toString("latin1"), true);
    } else {
      upstream.start(this, head.method, text, false);
      upstream.write(body.joined());
      upstream.finishRequest();
    }
  }

  #startStreaming(upstream: UpstreamConnection, text: string, isChunked: boolean): void {
    const { body, client, head } = this.#exchange;
    upstream.start(this, head.method, text, false);
    upstream.write(isChunked ? chunkOf(body.joined()) : body.joined());
    this.isStreamingBody = true;
    if (upstream.isConnected) this.#goOnStreaming();
    else client.pauseBody();
  }

  /** From here on bytes are sent that are not kept: the request can't be repeated. */
  #goOnStreaming(): void {
    const { body, client } = this.#exchange;
    this.#exchange.mayRepeat = false;
    body.release();
    this.deadlineMs = this.#requestDeadlineMs;
    client.resumeBody();
  }

  /** A further piece of a streamed body. */
  sendBody(bytes: Buffer, start: number, end: number): void {
    const { head, body, client } = this.#exchange;
    body.bytes += end - start;
    if (body.bytes > this.#endpoint.maxBodyBytes) {
      this.#lose("broken", "cancelled");
      return;
    }
    const piece = bytes.subarray(start, end);
    const flowing = this.#upstream?.write(head.framing.kind === "chunked" ? chunkOf(piece) : Buffer.from(piece));
    if (flowing === false) client.pauseBody();
  }

  endBody(): void {
    if (this.#exchange.head.framing.kind === "chunked") this.#upstream?.write(LAST_CHUNK);
    this.#upstream?.finishRequest();
    if (this.#stage === "first-byte") this.#enter("first-byte");
  }

  /** Nobody waits for it any more: the replica stops working for it at once. */
  abandon(outcome: Outcome): void {
    this.#leaveUpstream();
    this.#over(outcome);
  }

  onClientDrain(): void {
    if (this.#stage !== "answer") return;
    this.#enter("answer");
    this.#upstream?.resume();
  }

  onConnected(): void {
    if (this.#stage !== "connect") return;
    this.#enter("first-byte");
    if (this.isStreamingBody) this.#goOnStreaming();
  }

  onUpstreamDrain(): void {
    if (this.isStreamingBody) this.#exchange.client.resumeBody();
  }

  onAnswerHead(head: ResponseHead): void {
    const { thread } = this.#exchange;
    const now = nowMs();
    this.#status = head.status;
    if (head.isRefusal && head.status === 503) {
      this.#stage = "discard";
      return;
    }
    if (head.status >= 500) {
      thread.flow.fault(this.#lease, "error-status", now);
      if (head.status >= 502 && head.status <= 504 && this.#tryElsewhere()) return;
    } else thread.flow.firstByte(this.#lease, now);
    this.#firstByteAtMs = now;
    this.#progressToldAtMs = now;
    this.#enter("answer");
    const retryAfter = needsRetryAfter(head) ? "retry-after: 1\r\n" : "";
    this.#relay.head(head, this.#exchange.answerHeaders() + retryAfter);
  }

  onAnswerBody(bytes: Buffer, start: number, end: number): void {
    if (this.#stage !== "answer") return;
    this.#relay.body(bytes, start, end);
    this.#enter("answer");
    const now = this.#exchange.thread.deadlines.tickedAtMs;
    if (now - this.#progressToldAtMs >= PROGRESS_MS) {
      this.#progressToldAtMs = now;
      this.#exchange.thread.flow.progressed(this.#lease, now);
    }
  }

  onReadEnd(): void {
    if (this.#stage !== "answer" || this.#relay.flush()) return;
    // The client is slow, which is no fault of the replica: only the client's own time-out runs.
    this.#upstream?.pause();
    this.deadlineMs = this.#requestDeadlineMs;
  }

  onAnswerEnd(): void {
    this.#upstream = null;
    if (this.#stage === "discard") {
      this.#moveOn(this.#exchange.thread.flow.refused(this.#lease, nowMs()), "unreachable");
      return;
    }
    const exchange = this.#exchange;
    this.#over(this.#status >= 500 ? "failed" : "completed");
    exchange.finished();
    exchange.settle(this.#status >= 500 ? "failed" : "completed");
    this.#relay.end();
  }

  onFault(fault: UpstreamFault): void {
    const upstream = this.#upstream;
    this.#upstream = null;
    if (this.#stage === "discard") {
      this.onAnswerEnd();
      return;
    }
    const { thread, mayRepeat } = this.#exchange;
    // An idle connection that the replica closed just as it was taken says nothing about the replica.
    const isStale = upstream !== null && upstream.uses > 0 && !upstream.answerBegun;
    if (isStale && mayRepeat && !this.#isFreshOnly) {
      this.#isFreshOnly = true;
      this.send();
      return;
    }
    const kind: FaultKind = fault === "refused" ? "connect-refused" : "reset";
    thread.flow.fault(this.#lease, kind, nowMs());
    if (this.#relay.started) {
      this.#lose("cut", "failed");
      return;
    }
    const moved = thread.flow.retry(this.#lease, { sent: fault !== "refused", answerBegun: false }, nowMs());
    this.#moveOn(moved, fault === "refused" ? "unreachable" : "broken");
  }

  onDeadline(now: number): void {
    const { flow } = this.#exchange.thread;
    if (now >= this.#requestDeadlineMs) {
      this.#lose("too-long", "timed-out");
      return;
    }
    if (this.#stage === "connect") {
      this.#leaveUpstream();
      flow.fault(this.#lease, "connect-timeout", now);
      this.#moveOn(flow.retry(this.#lease, { sent: false, answerBegun: false }, now), "unreachable");
      return;
    }
    flow.fault(this.#lease, "timeout", now);
    this.#lose(this.#stage === "answer" ? "stalled" : "no-first-byte", "failed");
  }

  /** Leaves a failing answer for another replica, if the tables allow it. */
  #tryElsewhere(): boolean {
    const moved = this.#exchange.thread.flow.retry(this.#lease, { sent: true, answerBegun: false }, nowMs());
    if (moved === "denied") return false;
    this.#leaveUpstream();
    this.#moveOn(moved, "broken");
    return true;
  }

  #moveOn(moved: Moved, loss: Loss): void {
    if (moved === "denied") {
      this.#lose(loss, "failed");
      return;
    }
    this.#isFreshOnly = false;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#stage = "connect";
    if (moved === "moved") this.send();
    else {
      if (this.#lease.risingEdge) this.#exchange.thread.wake(this.#lease);
      this.#exchange.thread.pump();
    }
  }

  /** Gives up: an error where nothing was sent yet, else the answer is broken off. */
  #lose(loss: Loss, outcome: Outcome): void {
    const exchange = this.#exchange;
    this.#leaveUpstream();
    const problem = lossProblem(loss, this.#endpoint);
    this.#status = problem.status;
    this.#over(outcome);
    exchange.settle(outcome);
    if (!this.#relay.started) {
      exchange.refuse(problem);
      return;
    }
    exchange.finished();
    this.#relay.breakOff(problemBody(exchange.call.door, problem));
  }

  #enter(stage: "connect" | "first-byte" | "answer"): void {
    const { connectMs, firstByteMs, stallMs } = this.#endpoint.timeouts;
    this.#stage = stage;
    const limitMs = stage === "connect" ? connectMs : stage === "first-byte" ? firstByteMs : stallMs;
    this.deadlineMs = Math.min(this.#exchange.thread.deadlines.after(limitMs), this.#requestDeadlineMs);
  }

  #leaveUpstream(): void {
    const upstream = this.#upstream;
    this.#upstream = null;
    upstream?.destroy();
  }

  #over(outcome: Outcome): void {
    const { thread, requestId, arrivedAtMs } = this.#exchange;
    if (this.#stage === "over") return;
    this.#stage = "over";
    this.deadlineMs = Number.POSITIVE_INFINITY;
    thread.deadlines.remove(this);
    if (this.#trace === null || thread.tap === null) return;
    thread.tap.requestEnded({
      ...this.#trace,
      requestId,
      endpoint: this.#endpoint.name,
      version: this.#lease.version.id,
      replica: this.#lease.seat?.replica ?? "",
      status: this.#status,
      outcome,
      attempts: this.#sentOn,
      arrivedAtMs,
      firstByteAtMs: this.#firstByteAtMs,
      endedAtMs: nowMs(),
    });
  }
}

function exchangePassesCredentials(exchange: Exchange): boolean {
  return exchange.identity.kind === "anonymous";
}

function needsRetryAfter(head: ResponseHead): boolean {
  return (head.status === 429 || head.status === 503) && !head.hasRetryAfter;
}
