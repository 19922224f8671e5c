import { AnswerRelay } from "./answer-relay.ts";
import type { Deadlined } from "./deadlines.ts";
import { problemAnswer } from "./doors/problem.ts";
import { requestIdOf } from "./exchange.ts";
import type { RequestHead } from "./http1/request-head.ts";
import type { ResponseHead } from "./http1/response-head.ts";
import { nowMs } from "./mono.ts";
import type { ClientConnection, RequestHandler } from "./server/connection.ts";
import type { ThreadContext } from "./thread-context.ts";
import type { UpstreamConnection, UpstreamUser } from "./upstream/connection.ts";
import { chunkOf, LAST_CHUNK, upstreamHead } from "./upstream-head.ts";

/** The API answers in milliseconds; following logs may be silent for long, so only its first byte is waited for. */
const FIRST_BYTE_MS = 30_000;

/** Hands a request for the region's own surface through to the controller, body and answer streamed. */
export class RegionPass implements RequestHandler, UpstreamUser, Deadlined {
  readonly #thread: ThreadContext;
  readonly #client: ClientConnection;
  readonly #head: RequestHead;
  readonly #relay: AnswerRelay;
  readonly #addedHeaders: string;
  #upstream: UpstreamConnection | null;
  /** All of the request's body has come. */
  #isAsked: boolean;
  /** The answer is a stream of events, which nobody ends: a console, a follow of logs. */
  #isFollowing = false;
  #isOver = false;
  deadlineMs = nowMs() + FIRST_BYTE_MS;
  deadlineIndex = -1;

  constructor(thread: ThreadContext, client: ClientConnection, head: RequestHead) {
    this.#thread = thread;
    this.#client = client;
    this.#head = head;
    this.#relay = new AnswerRelay(client, head);
    const requestId = requestIdOf(head, thread);
    this.#addedHeaders = `x-request-id: ${requestId}\r\n`;
    const { framing } = head;
    this.#isAsked = framing.kind === "none";
    this.#upstream = thread.regionPool.acquire();
    thread.deadlines.add(this);
    client.sendContinue();
    const text = upstreamHead({
      request: head,
      path: head.target,
      remoteAddress: client.remoteAddress,
      requestId,
      host: head.host === "" ? "penstock" : head.host,
      traceparent: head.traceparent,
      contentLength: framing.kind === "none" ? -1 : framing.kind === "length" ? framing.bytes : null,
      passCredentials: true,
    });
    this.#upstream.start(this, head.method, text, framing.kind === "none");
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    const piece = bytes.subarray(start, end);
    const flowing = this.#upstream?.write(this.#head.framing.kind === "chunked" ? chunkOf(piece) : Buffer.from(piece));
    if (flowing === false) this.#client.pauseBody();
  }

  onBodyEnd(): void {
    this.#isAsked = true;
    if (this.#head.framing.kind === "chunked") this.#upstream?.write(LAST_CHUNK);
    this.#upstream?.finishRequest();
  }

  onClientGone(): void {
    this.#finish();
  }

  onDrain(): void {
    this.#upstream?.resume();
  }

  onStop(): void {
    if (!this.#isAsked) this.#lose();
    else if (this.#isFollowing) {
      this.#finish();
      this.#relay.end();
    }
  }

  onConnected(): void {}

  onUpstreamDrain(): void {
    this.#client.resumeBody();
  }

  onAnswerHead(head: ResponseHead): void {
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#isFollowing = head.isEventStream;
    this.#relay.head(head, this.#addedHeaders);
  }

  onAnswerBody(bytes: Buffer, start: number, end: number): void {
    this.#relay.body(bytes, start, end);
  }

  onReadEnd(): void {
    if (!this.#isOver && !this.#relay.flush()) this.#upstream?.pause();
  }

  onAnswerEnd(): void {
    this.#upstream = null;
    this.#finish();
    this.#relay.end();
  }

  onFault(): void {
    this.#upstream = null;
    this.#lose();
  }

  onDeadline(): void {
    this.#lose();
  }

  #lose(): void {
    this.#finish();
    if (this.#relay.started) {
      this.#client.destroy();
      return;
    }
    const problem = {
      status: 503,
      code: "PENSTOCK_CONTROLLER_AWAY",
      message: "the region's controller is not answering; models are served all the same, try again soon",
      retryAfterSeconds: 1,
    } as const;
    this.#client.answer(problemAnswer("raw", problem, this.#addedHeaders));
  }

  #finish(): void {
    this.#isOver = true;
    this.#thread.deadlines.remove(this);
    const upstream = this.#upstream;
    this.#upstream = null;
    upstream?.destroy();
  }
}
