import type { Socket } from "node:net";
import type { Deadlined, Deadlines } from "../deadlines.ts";
import { jsonAnswer, type LocalAnswer, serialiseAnswer } from "../http1/answers.ts";
import { type BodyReader, bodyReader } from "../http1/body.ts";
import type { Malformed } from "../http1/fields.ts";
import type { Http1Limits } from "../http1/limits.ts";
import { parseRequestHead, type RequestHead } from "../http1/request-head.ts";
import { readInto } from "./read-into.ts";

/** What serves one request of a connection. `onClientGone` is called at most once, and nothing after it. */
export interface RequestHandler {
  /** A piece of the request's body: `bytes[start, end)`, valid during the call only. */
  onBody(bytes: Buffer, start: number, end: number): void;
  onBodyEnd(): void;
  /** The client closed or reset the connection, stopped reading, or sent a malformed body. */
  onClientGone(): void;
  /** The client has taken what was written. */
  onDrain(): void;
  /** The thread ends: what would go on without end finishes now, the rest in its own time. */
  onStop?(): void;
}

/** What a connection needs of its thread. */
export interface ConnectionHost {
  readonly limits: Http1Limits;
  readonly deadlines: Deadlines;
  /** The thread takes no new requests: answers say `Connection: close`. */
  readonly isStopping: boolean;
  /** Makes the handler of a request. It may answer and finish at once; it is then given nothing more. */
  handle(connection: ClientConnection, head: RequestHead): RequestHandler;
  onClose(connection: ClientConnection): void;
}

/** Pipelined bytes that may wait behind the request being served before the socket is paused. */
const MAX_WAITING_BYTES = 65_536;

/** What clients send lands here, for all connections of the thread, so that no buffer is made per read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);

type Phase = "head" | "answer" | "linger" | "closed";

/**
 * One client's connection: reads requests one after the other (pipelined ones wait their turn), hands each to a handler
 * and writes what the handler answers. Time-outs and limits end it from every state.
 */
export class ClientConnection implements Deadlined {
  readonly #socket: Socket;
  readonly #host: ConnectionHost;
  readonly remoteAddress: string;
  deadlineMs = Number.POSITIVE_INFINITY;
  deadlineIndex = -1;
  #phase: Phase = "head";
  #handler: RequestHandler | null = null;
  #head: RequestHead | null = null;
  #body: BodyReader | null = null;
  #bodyPaused = false;
  /** Bytes not yet used up: `#waiting[#at, #end)`. */
  #waiting: Buffer | null = null;
  #at = 0;
  #end = 0;
  #advancing = false;
  #headStarted = false;

  constructor(accepted: Socket, host: ConnectionHost) {
    const socket = readInto(READ_BUFFER, accepted, (size) => this.#onData(size));
    this.#socket = socket;
    this.#host = host;
    this.remoteAddress = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
    host.deadlines.add(this);
    this.deadlineMs = host.deadlines.after(host.limits.headMs);
    socket.on("drain", () => this.#onDrain());
    socket.on("end", () => this.#onEnd());
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.#closed());
  }

  /** No request is being served, and none has begun to arrive. */
  get isIdle(): boolean {
    return this.#phase === "head" && !this.#headStarted;
  }

  /** Whole request body received (or there is none). */
  get isRequestRead(): boolean {
    return this.#body === null;
  }

  /** Whether the connection may carry another request after this one. */
  get mayKeepAlive(): boolean {
    return this.#head?.keepAlive === true && this.#body === null && !this.#host.isStopping;
  }

  /** Tells a client that waits for it to send its body. */
  sendContinue(): void {
    if (this.#head?.expectContinue === true && this.#body !== null && this.#head.minorVersion === 1) {
      this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
    }
  }

  /** Stops reading the body until `resumeBody`. */
  pauseBody(): void {
    this.#bodyPaused = true;
    this.#socket.pause();
    this.deadlineMs = Number.POSITIVE_INFINITY;
  }

  resumeBody(): void {
    if (!this.#bodyPaused) return;
    this.#bodyPaused = false;
    if (this.#body !== null) this.deadlineMs = this.#host.deadlines.after(this.#host.limits.bodyIdleMs);
    if (this.#waiting !== null) this.#advance();
    this.#socket.resume();
  }

  /** Writes bytes of an answer (text as latin1). False: wait for `onDrain`. */
  write(data: string | Buffer): boolean {
    const flowing = typeof data === "string" ? this.#socket.write(data, "latin1") : this.#socket.write(data);
    if (!flowing) this.deadlineMs = this.#host.deadlines.after(this.#host.limits.writeStallMs);
    return flowing;
  }

  /** Writes a whole answer and finishes. */
  answer(local: LocalAnswer): void {
    const head = this.#head;
    const keepAlive = this.mayKeepAlive;
    this.write(serialiseAnswer(local, head?.method === "HEAD", keepAlive, head?.minorVersion === 0));
    this.finish(keepAlive);
  }

  /** The answer is complete. Goes on with the next request, or closes once the client has read the answer. */
  finish(keepAlive: boolean): void {
    this.#handler = null;
    if (this.#phase !== "answer") return;
    if (!keepAlive || this.#body !== null) {
      this.#linger();
      return;
    }
    this.#phase = "head";
    this.#head = null;
    this.#headStarted = false;
    if (this.#socket.writableNeedDrain) this.deadlineMs = this.#host.deadlines.after(this.#host.limits.writeStallMs);
    else this.deadlineMs = this.#host.deadlines.after(this.#host.limits.idleMs);
    if (this.#waiting !== null) this.#advance();
    if (this.#socket.isPaused()) this.#socket.resume();
  }

  /** Cuts the connection: what was promised can't be kept. */
  destroy(): void {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.#host.deadlines.remove(this);
    this.#socket.destroy();
    const handler = this.#handler;
    this.#handler = null;
    handler?.onClientGone();
  }

  /** Closes at once where no request is on it; else after the present one. */
  stop(): void {
    if (this.isIdle) this.destroy();
    else this.#handler?.onStop?.();
  }

  onDeadline(): void {
    if (this.#phase === "head" && this.#headStarted)
      this.#refuse(408, "PENSTOCK_HEAD_TIMEOUT", "request head took too long");
    else if (this.#phase === "answer" && this.#body !== null && !this.#socket.writableNeedDrain) this.#bodyTimedOut();
    else this.destroy();
  }

  #bodyTimedOut(): void {
    const handler = this.#handler;
    this.#handler = null;
    handler?.onClientGone();
    this.#refuse(
      408,
      "PENSTOCK_BODY_TIMEOUT",
      `no byte of the request body came for ${this.#host.limits.bodyIdleMs} ms`,
    );
  }

  /** `size` bytes stand in READ_BUFFER, which the next read of any connection overwrites: what is not used up now is copied. */
  #onData(size: number): void {
    if (this.#phase === "linger" || this.#phase === "closed") return;
    if (this.#waiting === null) this.#wait(READ_BUFFER, 0, size);
    else {
      const bytes = Buffer.concat([this.#waiting.subarray(this.#at, this.#end), READ_BUFFER.subarray(0, size)]);
      this.#wait(bytes, 0, bytes.length);
    }
    this.#advance();
    if (this.#waiting === READ_BUFFER) {
      const bytes = Buffer.from(READ_BUFFER.subarray(this.#at, this.#end));
      this.#wait(bytes, 0, bytes.length);
    }
  }

  #wait(bytes: Buffer, at: number, end: number): void {
    this.#waiting = at === end ? null : bytes;
    this.#at = at;
    this.#end = end;
  }

  /** Reads as far as the waiting bytes and the handler allow. */
  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      while (this.#waiting !== null) {
        const more = this.#phase === "head" ? this.#readHead(this.#waiting) : this.#readBody(this.#waiting);
        if (!more) break;
      }
    } finally {
      this.#advancing = false;
    }
  }

  #readHead(bytes: Buffer): boolean {
    if (this.#socket.writableNeedDrain) {
      // The client pipelines without reading: no further request before it takes its answers.
      this.#socket.pause();
      return false;
    }
    const result = parseRequestHead(bytes, this.#at, this.#end, this.#host.limits);
    if (result === null) {
      if (!this.#headStarted) {
        this.#headStarted = true;
        this.deadlineMs = this.#host.deadlines.after(this.#host.limits.headMs);
      }
      return false;
    }
    if (result.kind === "malformed") {
      this.#refuseMalformed(result.why);
      return false;
    }
    const { head, endOffset } = result;
    this.#wait(bytes, endOffset, this.#end);
    this.#phase = "answer";
    this.#head = head;
    this.#headStarted = true;
    this.answerStarted = false;
    const hasBody = head.framing.kind !== "none";
    this.#body = head.framing.kind === "none" ? null : bodyReader(head.framing, this.#host.limits);
    this.deadlineMs = hasBody ? this.#host.deadlines.after(this.#host.limits.bodyIdleMs) : Number.POSITIVE_INFINITY;
    const handler = this.#host.handle(this, head);
    if (this.#head === head && this.#phase === "answer") this.#handler = handler;
    if (!hasBody && this.#handler === handler) handler.onBodyEnd();
    return true;
  }

  #readBody(bytes: Buffer): boolean {
    if (this.#phase !== "answer") return false;
    const body = this.#body;
    if (body === null) {
      if (this.#end - this.#at > MAX_WAITING_BYTES) this.#socket.pause();
      return false;
    }
    if (this.#bodyPaused) return false;
    const end = this.#end;
    this.#waiting = null;
    this.deadlineMs = this.#host.deadlines.after(this.#host.limits.bodyIdleMs);
    const result = body.push(bytes, this.#at, end, this.#onPiece);
    if (this.#phase !== "answer") return false;
    if (result === "malformed") {
      const handler = this.#handler;
      this.#handler = null;
      handler?.onClientGone();
      this.#refuseMalformed("bad-chunk");
      return false;
    }
    if (result === "more") return false;
    this.#wait(bytes, body.endOffset, end);
    this.#body = null;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#handler?.onBodyEnd();
    return true;
  }

  readonly #onPiece = (bytes: Buffer, start: number, end: number): void => {
    this.#handler?.onBody(bytes, start, end);
  };

  #onDrain(): void {
    if (this.#phase === "answer") {
      this.deadlineMs =
        this.#body === null ? Number.POSITIVE_INFINITY : this.#host.deadlines.after(this.#host.limits.bodyIdleMs);
      this.#handler?.onDrain();
    } else if (this.#phase === "head") {
      this.deadlineMs = this.#host.deadlines.after(this.#host.limits.idleMs);
      if (this.#waiting !== null) this.#advance();
      this.#socket.resume();
    }
  }

  /** The client closed its side: like other proxies, taken as gone, so that no replica works for nobody. */
  #onEnd(): void {
    if (this.#phase === "answer" || this.#phase === "linger") this.destroy();
    else this.#socket.end(() => this.destroy());
  }

  #closed(): void {
    this.destroy();
    this.#host.deadlines.remove(this);
    this.#host.onClose(this);
  }

  #refuseMalformed(why: Malformed): void {
    this.#refuse(
      STATUS_OF_MALFORMED[why] ?? 400,
      "PENSTOCK_BAD_REQUEST",
      `malformed HTTP request: ${why.replaceAll("-", " ")}`,
    );
  }

  #refuse(status: number, code: string, message: string): void {
    if (this.#phase === "closed" || this.#phase === "linger") return;
    this.#waiting = null;
    const error = jsonAnswer(status, { error: { message, code } });
    if (!this.answerStarted) this.#socket.write(serialiseAnswer(error, false, false, false));
    this.#linger();
  }

  /** Set by the handler once bytes of its answer are out, after which no error answer can be sent. */
  answerStarted = false;

  /** Closes our side and gives the client a while to read the answer: destroying at once could reset it away. */
  #linger(): void {
    this.#phase = "linger";
    this.#waiting = null;
    this.deadlineMs = this.#host.deadlines.after(this.#host.limits.lingerMs);
    this.#socket.end();
    this.#socket.resume();
  }
}

const STATUS_OF_MALFORMED: Partial<Record<Malformed, number>> = {
  "head-too-large": 431,
  "too-many-headers": 431,
  "target-too-long": 414,
  "unknown-transfer-coding": 501,
  "unsupported-version": 505,
};
