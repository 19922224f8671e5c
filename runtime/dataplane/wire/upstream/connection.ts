import { connect, type Socket } from "node:net";
import { type BodyReader, bodyReader } from "../http1/body.ts";
import type { Http1Limits } from "../http1/limits.ts";
import { parseResponseHead, type ResponseHead } from "../http1/response-head.ts";

/** Why an upstream connection ended under a request. `refused`: never connected, so nothing was sent. */
export type UpstreamFault = "refused" | "reset" | "malformed";

/** Where an upstream listens: a TCP address or a unix socket. */
export type UpstreamTarget = { readonly host: string; readonly port: number } | { readonly path: string };

/** Who a connection works for at the moment. After `onAnswerEnd` or `onFault` it is told nothing more. */
export interface UpstreamUser {
  /** The connection stands: the request goes out now. Not called on a reused connection. */
  onConnected(): void;
  onAnswerHead(head: ResponseHead): void;
  /** A piece of the answer's body, valid during the call only. */
  onAnswerBody(bytes: Buffer, start: number, end: number): void;
  onAnswerEnd(): void;
  /** All that came with one read has been told: the moment to write it on. */
  onReadEnd(): void;
  onFault(fault: UpstreamFault): void;
  /** The replica has taken what was written. */
  onUpstreamDrain(): void;
}

/** Told when a connection can carry another request, and when it is gone. */
export interface UpstreamOwner {
  onReusable(connection: UpstreamConnection): void;
  onGone(connection: UpstreamConnection): void;
}

/**
 * What is read from replicas lands here, for all connections of the thread: each read is used up before the next one, so
 * no buffer is made per read.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);

/** One keep-alive connection to a replica; carries one request at a time. */
export class UpstreamConnection {
  readonly #socket: Socket;
  readonly #owner: UpstreamOwner;
  readonly #limits: Http1Limits;
  #user: UpstreamUser | null = null;
  #method = "";
  #head: ResponseHead | null = null;
  #body: BodyReader | null = null;
  #waiting: Buffer | null = null;
  #requestSent = false;
  #connected = false;
  #gone = false;
  /** Requests it carried before the present one. */
  uses = 0;
  /** When it became idle, for the pool. */
  idleSinceMs = 0;
  /** Any byte of the present answer has come. */
  answerBegun = false;

  constructor(target: UpstreamTarget, limits: Http1Limits, owner: UpstreamOwner) {
    this.#limits = limits;
    this.#owner = owner;
    const callback = (size: number): boolean => {
      this.#onData(size);
      return true;
    };
    this.#socket = connect({ ...target, noDelay: true, onread: { buffer: READ_BUFFER, callback } });
    this.#socket.on("connect", () => this.#onConnect());
    this.#socket.on("drain", () => this.#user?.onUpstreamDrain());
    this.#socket.on("end", () => this.#onEnd());
    this.#socket.on("error", () => this.#fail(this.#connected ? "reset" : "refused"));
    this.#socket.on("close", () => this.#fail(this.#connected ? "reset" : "refused"));
  }

  /** Whether a TCP connection was ever made: before that, nothing can have been sent. */
  get isConnected(): boolean {
    return this.#connected;
  }

  /** Sends a request: head, and as much of the body as is there. `complete`: no more body follows. */
  start(user: UpstreamUser, method: string, data: string | Buffer, complete: boolean): void {
    this.#user = user;
    this.#method = method;
    this.#head = null;
    this.#body = null;
    this.answerBegun = false;
    this.#requestSent = complete;
    if (typeof data === "string") this.#socket.write(data, "latin1");
    else this.#socket.write(data);
  }

  /** Sends more of the body, framed already. False: wait for `onUpstreamDrain`. */
  write(data: string | Buffer): boolean {
    return typeof data === "string" ? this.#socket.write(data, "latin1") : this.#socket.write(data);
  }

  /** No more body follows. */
  finishRequest(): void {
    this.#requestSent = true;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends it at once; its user is told nothing. */
  destroy(): void {
    this.#user = null;
    this.#leave();
    this.#socket.destroy();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#owner.onGone(this);
  }

  #onConnect(): void {
    this.#connected = true;
    this.#user?.onConnected();
  }

  /** `size` bytes stand in READ_BUFFER; they are overwritten by the next read of any connection. */
  #onData(size: number): void {
    const user = this.#user;
    if (user === null) {
      // A replica that speaks unasked: what it says can't be told from the next answer.
      this.destroy();
      return;
    }
    this.answerBegun = true;
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting === null) this.#read(user, READ_BUFFER, size);
    else {
      const bytes = Buffer.concat([waiting, READ_BUFFER.subarray(0, size)]);
      this.#read(user, bytes, bytes.length);
    }
    user.onReadEnd();
  }

  #read(user: UpstreamUser, bytes: Buffer, end: number): void {
    let at = 0;
    while (this.#head === null) {
      const result = parseResponseHead(bytes, at, end, this.#limits, this.#method);
      if (result === null) {
        this.#waiting = Buffer.from(bytes.subarray(at, end));
        return;
      }
      if (result.kind === "malformed" || result.head.status === 101) {
        this.#fail("malformed");
        return;
      }
      at = result.endOffset;
      // Interim answers (100, 103) are the replica's business with this router.
      if (result.head.status < 200) continue;
      this.#head = result.head;
      const { framing } = result.head;
      this.#body = framing.kind === "none" ? null : bodyReader(framing, this.#limits);
      user.onAnswerHead(result.head);
      if (this.#user !== user) return;
    }
    if (this.#body === null) {
      this.#answered(at === end);
      return;
    }
    if (at === end) return;
    const result = this.#body.push(bytes, at, end, this.#onPiece);
    if (this.#user !== user) return;
    if (result === "malformed") this.#fail("malformed");
    else if (result === "done") this.#answered(this.#body.endOffset === end);
  }

  readonly #onPiece = (bytes: Buffer, start: number, end: number): void => {
    this.#user?.onAnswerBody(bytes, start, end);
  };

  #answered(isClean: boolean): void {
    const user = this.#user;
    const reusable = isClean && this.#requestSent && this.#head?.keepAlive === true && !this.#socket.destroyed;
    this.#user = null;
    this.#head = null;
    this.#body = null;
    if (reusable) {
      this.uses++;
      if (this.#socket.isPaused()) this.#socket.resume();
      this.#owner.onReusable(this);
    } else {
      this.#leave();
      this.#socket.destroy();
    }
    user?.onAnswerEnd();
  }

  #onEnd(): void {
    const user = this.#user;
    if (user !== null && this.#head?.framing.kind === "until-close") {
      this.#answered(false);
      user.onReadEnd();
      return;
    }
    this.#fail(this.#connected ? "reset" : "refused");
  }

  #fail(fault: UpstreamFault): void {
    const user = this.#user;
    this.#user = null;
    this.#leave();
    this.#socket.destroy();
    user?.onFault(fault);
  }
}
