import { HEADERS } from "../../contract/names.ts";
import type { SnapshotEndpoint } from "../../domain/snapshot.ts";
import type { Asked, Lease, Outcome } from "../flow/lease.ts";
import { Attempt } from "./attempt.ts";
import type { Identity } from "./auth.ts";
import { findChatPath, isChatInvocation } from "./doors/chat-invocation.ts";
import { answerLocally, unknownEndpoint } from "./doors/local.ts";
import { findModel } from "./doors/model-field.ts";
import { type Problem, problemAnswer } from "./doors/problem.ts";
import type { EndpointCall, LocalQuery } from "./doors/route.ts";
import type { RequestHead } from "./http1/request-head.ts";
import { nowMs } from "./mono.ts";
import { bodyTooLarge, callProblem, identityProblem, refusalProblem, waitedTooLong } from "./problems.ts";
import { isWorthDraining, RequestBody } from "./request-body.ts";
import type { ClientConnection, RequestHandler } from "./server/connection.ts";
import type { ThreadContext } from "./thread-context.ts";

/** Bytes of a body in which what is sought must be found: a client that puts `model` last sends this much before it. */
const BODY_SCAN_BYTES = 8 * 1024 * 1024;

/**
 * One request from its head to its settled lease: finds the endpoint, takes the body, asks the flow tables for a seat,
 * waits where there is none, and hands over to an Attempt that talks to the replica.
 */
export class Exchange implements RequestHandler, Asked {
  readonly thread: ThreadContext;
  readonly client: ClientConnection;
  readonly head: RequestHead;
  call: EndpointCall;
  readonly identity: Identity;
  readonly requestId: string;
  readonly body = new RequestBody();
  readonly workload: string;
  readonly cost = 1;
  readonly arrivedAtMs = nowMs();
  mayRepeat = false;
  lease: Lease<Exchange> | null = null;
  endpoint: SnapshotEndpoint | null = null;
  /** Found, and called in a way that only the body tells. */
  #invoked: SnapshotEndpoint | null = null;
  #attempt: Attempt | null = null;
  #refusal: Problem | null = null;
  #isOver = false;
  #scanAtBytes = 4_096;

  constructor(
    thread: ThreadContext,
    client: ClientConnection,
    head: RequestHead,
    call: EndpointCall,
    identity: Identity,
  ) {
    this.thread = thread;
    this.client = client;
    this.head = head;
    this.call = call;
    this.identity = identity;
    this.workload = identity.kind === "key" ? identity.key.name : "";
    this.requestId = requestIdOf(head, thread);
  }

  get bodyBytes(): number {
    return this.body.bytes;
  }

  /** Checks what the head alone tells. Called once, right after it was made. */
  begin(): void {
    const { call } = this;
    const problem = identityProblem(this.identity, call.endpoint);
    if (problem !== null) {
      this.refuse(problem);
      return;
    }
    if (call.named === "path") this.#resolve(call.endpoint!);
    else if (call.named === "header") this.#resolveFromHeader();
    if (this.#refusal === null && !this.#isOver) this.client.sendContinue();
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    if (this.#refusal !== null || this.#isOver) return;
    if (this.#attempt?.isStreamingBody === true) {
      this.#attempt.sendBody(bytes, start, end);
      return;
    }
    this.body.add(bytes, start, end);
    if (this.endpoint === null) {
      if (this.body.bytes >= this.#scanAtBytes) this.#scanBody(false);
      if (this.endpoint === null) return;
    }
    if (this.body.bytes > this.endpoint.maxBodyBytes) {
      this.refuse(bodyTooLarge(this.endpoint));
      return;
    }
    if (this.body.bytes > this.thread.streamBodyBytes && this.lease === null) {
      this.client.pauseBody();
      this.#admit(this.endpoint);
    }
  }

  onBodyEnd(): void {
    if (this.#isOver) return;
    this.body.isComplete = true;
    if (this.#refusal !== null) {
      this.#answer(this.#refusal);
      return;
    }
    if (this.#attempt?.isStreamingBody === true) {
      this.#attempt.endBody();
      return;
    }
    if (this.endpoint === null) this.#scanBody(true);
    if (this.endpoint !== null && this.#refusal === null && this.lease === null) this.#admit(this.endpoint);
  }

  onClientGone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#attempt?.abandon("client-gone");
    this.settle("client-gone");
  }

  onDrain(): void {
    this.#attempt?.onClientDrain();
  }

  /** The lease has a seat: sends the request there. */
  send(): void {
    if (this.#isOver) return;
    this.#attempt ??= new Attempt(this, this.lease!, this.endpoint!);
    this.#attempt.send();
  }

  /** It waited for room until its time was up; the tables have settled it. */
  expire(): void {
    this.#attempt?.abandon("failed");
    this.#answer(waitedTooLong(this.endpoint!));
  }

  /** Settles the lease, if it is not yet, and lets waiting requests have the room. */
  settle(outcome: Outcome): void {
    const { lease } = this;
    if (lease === null || lease.settled) return;
    this.thread.flow.settle(lease, outcome, nowMs());
    this.thread.pump();
  }

  /** The answer was handed on whole. */
  finished(): void {
    this.#isOver = true;
    this.body.release();
  }

  /** Answers with a problem: at once, or after a short body so that the connection can be used again. */
  refuse(problem: Problem): void {
    if (!this.client.isRequestRead && isWorthDraining(this.head)) {
      this.#refusal = problem;
      this.body.release();
    } else this.#answer(problem);
  }

  #answer(problem: Problem): void {
    if (this.#isOver) return;
    this.finished();
    this.client.answer(problemAnswer(this.call.door, problem, this.answerHeaders()));
  }

  /** Headers of every answer, as whole lines. */
  answerHeaders(): string {
    const version = this.lease === null ? "" : `${HEADERS.version}: ${this.lease.version.id}\r\n`;
    return `${HEADERS.requestId}: ${this.requestId}\r\n${version}`;
  }

  #resolve(name: string): void {
    const { directory } = this.thread;
    const endpoint = directory.endpoint(name);
    if (endpoint === null) {
      this.refuse(unknownEndpoint(name, directory, this.identity));
      return;
    }
    const problem = identityProblem(this.identity, name) ?? callProblem(endpoint, this.call, this.head);
    if (problem !== null) {
      this.refuse(problem);
      return;
    }
    this.mayRepeat = endpoint.idempotent || this.head.idempotencyKey !== null;
    if (isChatInvocation(endpoint, this.call)) this.#invoked = endpoint;
    else this.endpoint = endpoint;
  }

  /** `/invocations` names no endpoint: a header does, or there is but one that opens the door. */
  #resolveFromHeader(): void {
    if (this.head.endpoint !== null) {
      this.#resolve(this.head.endpoint);
      return;
    }
    const matching = this.thread.directory.list(this.identity, this.call.door);
    if (matching.length === 1) {
      this.#resolve(matching[0]!.name);
      return;
    }
    const names = matching.map((endpoint) => endpoint.name).join(", ");
    this.refuse({
      status: matching.length === 0 ? 404 : 400,
      code: "PENSTOCK_ENDPOINT_NOT_NAMED",
      message:
        matching.length === 0
          ? "no endpoint answers /invocations; deploy a model first"
          : `several endpoints answer /invocations (${names}); POST /serving-endpoints/NAME/invocations or send ${HEADERS.endpoint}: NAME`,
    });
  }

  #scanBody(isComplete: boolean): void {
    const { call, head } = this;
    if (head.method !== "POST") {
      this.refuse({
        status: 405,
        code: "PENSTOCK_METHOD_NOT_ALLOWED",
        message: `${head.method} is not allowed here; use POST`,
        allow: call.method ?? "POST",
      });
      return;
    }
    const invoked = this.#invoked;
    const bytes = this.body.joined();
    const field = invoked === null ? findModel(bytes) : findChatPath(bytes);
    if (field.kind === "found") {
      if ("model" in field) this.#resolve(field.model);
      else {
        this.call = { ...this.call, path: field.path };
        this.endpoint = invoked;
      }
      return;
    }
    const sought = invoked === null ? "`model`" : "`messages`, `prompt` or `input`";
    if (field.kind === "more" && !isComplete) {
      if (this.body.bytes < BODY_SCAN_BYTES) {
        this.#scanAtBytes = this.body.bytes * 2;
        return;
      }
      this.refuse({
        status: 413,
        code: "PENSTOCK_BODY_TOO_LARGE",
        message: `${sought} was not found in the first ${BODY_SCAN_BYTES} bytes of the body; put it first`,
      });
      return;
    }
    const why =
      field.kind === "malformed"
        ? field.why
        : field.kind === "more"
          ? "the body is not complete JSON"
          : `the body has no ${sought}`;
    const todo =
      invoked === null
        ? 'send a JSON object whose "model" names an endpoint'
        : `endpoint "${invoked.name}" is a language model: send a JSON object with "messages" (chat), "prompt" (completion) or "input" (embedding)`;
    this.refuse({ status: 400, code: "PENSTOCK_BAD_BODY", message: `${why}; ${todo}` });
  }

  #admit(endpoint: SnapshotEndpoint): void {
    const admitted = this.thread.flow.admit(endpoint.name, this, nowMs());
    if (typeof admitted === "string") {
      this.#answer(refusalProblem(admitted, endpoint));
      return;
    }
    this.lease = admitted;
    if (admitted.seat !== null) {
      this.send();
      return;
    }
    if (admitted.risingEdge) this.thread.wake(admitted);
    this.thread.pump();
  }
}

/** Client's request id where it is short and printable, else a new one. */
export function requestIdOf(head: RequestHead, thread: Pick<ThreadContext, "newRequestId">): string {
  const given = head.requestId;
  return given !== null && /^[\x21-\x7e]{1,128}$/.test(given) ? given : thread.newRequestId();
}

/** Answers a question about endpoints, after the body (if any) was read or left unread. */
export class LocalExchange implements RequestHandler {
  readonly #reply: () => void;

  constructor(
    thread: ThreadContext,
    client: ClientConnection,
    head: RequestHead,
    query: LocalQuery,
    identity: Identity,
  ) {
    const headers = `${HEADERS.requestId}: ${requestIdOf(head, thread)}\r\n`;
    this.#reply = () => {
      const problem = identityProblem(identity, null);
      client.answer(
        problem === null
          ? answerLocally(query, thread.directory, identity, headers)
          : problemAnswer(query.door, problem, headers),
      );
    };
  }

  onBody(): void {}
  onBodyEnd(): void {
    this.#reply();
  }
  onClientGone(): void {}
  onDrain(): void {}
}
