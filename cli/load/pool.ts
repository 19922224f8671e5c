import { connect, type Socket } from "node:net";
import { AnswerReader } from "./answer-reader.ts";

/** Requests that wait for a connection at most; past it they fail at once, so that memory stays bounded. */
const MAX_WAITING = 200_000;

/** What comes in lands here, for all connections of the thread: each read is used up before the next one. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);

/** One request to send and what becomes of it; exactly one of `end` and `fail` is called. */
export interface Exchange {
  /** The whole request, head and body. */
  readonly bytes: Buffer;
  /** Gives up after this time of the pool's clock. */
  readonly deadlineMs: number;
  sent(): void;
  body(piece: Buffer): void;
  end(status: number): void;
  /** `kind` is a name fit for counting: `connect ECONNREFUSED`, `timeout`, `reset`, ... */
  fail(kind: string): void;
}

/** A keep-alive pool of HTTP/1.1 connections to one server that grows up to a bound; the connection used last is used next. */
export class Pool {
  readonly #server: { readonly host: string; readonly port: number };
  readonly #maxConnections: number;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  readonly #waiting: Exchange[] = [];
  #waitingFrom = 0;
  #closed = false;

  constructor(server: { readonly host: string; readonly port: number }, maxConnections: number) {
    this.#server = server;
    this.#maxConnections = maxConnections;
  }

  get connections(): number {
    return this.#all.size;
  }

  /** Sends as soon as a connection is free. */
  send(exchange: Exchange): void {
    const idle = this.#idle.pop();
    if (this.#closed) exchange.fail("stopped");
    else if (idle !== undefined) idle.send(exchange);
    else if (this.#all.size < this.#maxConnections) this.#open().send(exchange);
    else if (this.#waiting.length - this.#waitingFrom < MAX_WAITING) this.#waiting.push(exchange);
    else exchange.fail("generator: too many requests wait for a connection");
  }

  /** Ends the requests whose deadline has passed. Cost: O(connections). */
  expire(nowMs: number): void {
    for (const connection of this.#all) connection.expire(nowMs);
    for (;;) {
      const first = this.#waiting[this.#waitingFrom];
      if (first === undefined || first.deadlineMs > nowMs) break;
      this.#takeWaiting();
      first.fail("timeout");
    }
  }

  /** Ends all connections; what is in flight or waits fails as stopped. */
  close(): void {
    this.#closed = true;
    for (let next = this.#takeWaiting(); next !== undefined; next = this.#takeWaiting()) next.fail("stopped");
    for (const connection of this.#all) connection.destroy();
  }

  #open(): Connection {
    const connection = new Connection(this.#server, {
      free: (freed) => {
        const next = this.#takeWaiting();
        if (next === undefined) this.#idle.push(freed);
        else freed.send(next);
      },
      gone: (lost) => {
        this.#all.delete(lost);
        const at = this.#idle.lastIndexOf(lost);
        if (at >= 0) this.#idle.splice(at, 1);
        const next = this.#takeWaiting();
        if (next !== undefined) this.#open().send(next);
      },
    });
    this.#all.add(connection);
    return connection;
  }

  #takeWaiting(): Exchange | undefined {
    const next = this.#waiting[this.#waitingFrom];
    if (next === undefined) return undefined;
    this.#waitingFrom += 1;
    if (this.#waitingFrom > 1_024 && this.#waitingFrom * 2 > this.#waiting.length) {
      this.#waiting.splice(0, this.#waitingFrom);
      this.#waitingFrom = 0;
    }
    return next;
  }
}

interface Owner {
  free(connection: Connection): void;
  gone(connection: Connection): void;
}

class Connection {
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  readonly #owner: Owner;
  #current: Exchange | null = null;
  #gone = false;

  constructor(server: { readonly host: string; readonly port: number }, owner: Owner) {
    this.#owner = owner;
    this.#reader = new AnswerReader({
      body: (piece) => this.#current?.body(piece),
      end: (status, keepAlive) => this.#answered(status, keepAlive),
    });
    const callback = (size: number): boolean => {
      try {
        this.#reader.push(READ_BUFFER.subarray(0, size));
      } catch {
        this.#lose("bad answer");
      }
      return true;
    };
    this.#socket = connect({ ...server, noDelay: true, onread: { buffer: READ_BUFFER, callback } });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      const connecting = this.#socket.bytesRead === 0 && error.syscall === "connect";
      this.#lose(connecting ? `connect ${error.code}` : "reset");
    });
    this.#socket.on("close", () => {
      if (this.#current !== null && this.#reader.closed()) return;
      this.#lose("closed before the answer's end");
    });
  }

  send(exchange: Exchange): void {
    this.#current = exchange;
    this.#socket.write(exchange.bytes);
    exchange.sent();
  }

  expire(nowMs: number): void {
    if (this.#current !== null && this.#current.deadlineMs <= nowMs) this.#lose("timeout");
  }

  destroy(): void {
    this.#lose("stopped");
  }

  #answered(status: number, keepAlive: boolean): void {
    const exchange = this.#current;
    this.#current = null;
    exchange?.end(status);
    if (keepAlive && !this.#gone) this.#owner.free(this);
    else this.#lose("closed");
  }

  #lose(kind: string): void {
    const exchange = this.#current;
    this.#current = null;
    exchange?.fail(kind);
    if (this.#gone) return;
    this.#gone = true;
    this.#socket.destroy();
    this.#owner.gone(this);
  }
}
