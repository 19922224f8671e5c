import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HEADERS } from "../contract/names.ts";
import type { Address } from "../domain/replica.ts";
import type { Engine, Route, ServingAnswer, ServingRequest } from "./contract.ts";
import type { ReplicaCounters } from "./replica-counters.ts";

/** Largest body a replica reads. The endpoint's own, smaller bound is the router's work; this one saves the process. */
const MAX_BODY_BYTES = 1024 ** 3;

/** What a replica's HTTP server needs. */
export interface ReplicaServerOptions {
  readonly engine: Engine;
  readonly counters: ReplicaCounters;
  /** Most requests in flight by the version's settings, beside the engine's own; above it the answer is an instant refusal. */
  readonly maxInFlight: number | null;
  /** Value of HEADERS.probe that marks the keeper's own requests. */
  readonly probeSecret: string;
  /** Called with an error that an engine threw; the client gets a plain 500. */
  onFault(error: unknown): void;
}

/**
 * Serves an engine that lives in this process over HTTP/1.1: counts each request, refuses above the cap before the
 * body is read, streams, tells the engine when a client has gone, and drains.
 */
export class ReplicaServer {
  readonly #options: ReplicaServerOptions;
  readonly #server: Server;
  readonly #cap: number;
  #draining = false;

  constructor(options: ReplicaServerOptions) {
    this.#options = options;
    const unbounded = Number.POSITIVE_INFINITY;
    this.#cap = Math.min(options.maxInFlight ?? unbounded, options.engine.maxInFlight ?? unbounded);
    this.#server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, noDelay: true });
    this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => this.#take(request, response));
    this.#server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      this.#take(request, response);
    });
  }

  /** Listens on a free port of `host`. */
  async listen(host: string): Promise<Address> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, host, 4096, resolve);
    });
    return { host, port: (this.#server.address() as AddressInfo).port };
  }

  /** Takes no new work; resolves when all that was in flight has been answered and its connections are closed. */
  async drain(): Promise<void> {
    this.#draining = true;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    response.sendDate = false;
    if (this.#draining) response.setHeader("connection", "close");
    const url = request.url ?? "/";
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    const route = this.#options.engine.route(request.method ?? "GET", path);
    if (route === null) {
      send(response, errorAnswer(404, `no such path on this replica: ${path}`));
      return;
    }
    const probe = request.headers[HEADERS.probe] === this.#options.probeSecret;
    if (route.requestClass !== null && !probe && this.#isFull()) {
      this.#options.counters.count("refusedTotal", 1);
      send(response, refusal());
      return;
    }
    if (request.headers.expect !== undefined) response.writeContinue();
    this.#serve(request, response, route, path, probe);
  }

  #isFull(): boolean {
    return this.#draining || this.#options.counters.inFlight() >= this.#cap;
  }

  #serve(request: IncomingMessage, response: ServerResponse, route: Route, path: string, probe: boolean): void {
    const { counters } = this.#options;
    const counted = probe ? null : route.requestClass;
    const startedAtMs = counted === null ? 0 : counters.started(counted);
    const gone: (() => void)[] = [];
    let failed = false;
    response.once("close", () => {
      if (!response.writableFinished) for (const callback of gone) callback();
      // A connection that was busy when the drain began is idle only now.
      if (this.#draining) this.#server.closeIdleConnections();
      if (counted === null) return;
      if (response.writableFinished) counters.progressed(counted, 1);
      counters.finished(counted, startedAtMs, failed);
    });
    const run = async (body: Buffer): Promise<void> => {
      try {
        const answer = await route.handle({
          method: request.method ?? "GET",
          path,
          headers: request.headers,
          body,
          probe,
          onClientGone: (callback) => {
            if (response.destroyed) callback();
            else gone.push(callback);
          },
        } satisfies ServingRequest);
        failed = answer.status >= 500;
        await send(response, answer);
      } catch (error) {
        failed = true;
        this.#options.onFault(error);
        if (response.headersSent) response.destroy();
        else void send(response, errorAnswer(500, "the replica failed on this request"));
      }
    };
    readBody(request, run, () => send(response, errorAnswer(413, `body is over ${MAX_BODY_BYTES} bytes`)));
  }
}

/** Collects the body; most bodies come in one piece, which is then passed on without a copy. */
function readBody(request: IncomingMessage, done: (body: Buffer) => void, tooLong: () => void): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  request.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= MAX_BODY_BYTES) pieces.push(piece);
    else pieces.length = 0;
  });
  request.on("end", () => {
    if (bytes > MAX_BODY_BYTES) tooLong();
    else done(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  });
}

/** Writes an answer; resolves when a streamed one has been written or its client has gone. */
async function send(response: ServerResponse, answer: ServingAnswer): Promise<void> {
  const { body } = answer;
  if (typeof body === "string" || body instanceof Uint8Array) {
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
    response.writeHead(answer.status, { ...answer.headers, "content-length": length });
    response.end(body);
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.flushHeaders();
  for await (const piece of body) {
    // Leaving the loop calls the iterator's `return`, which frees what the engine holds for it.
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

function refusal(): ServingAnswer {
  const answer = errorAnswer(503, "the replica is at its concurrency limit");
  return { ...answer, headers: { ...answer.headers, [HEADERS.refused]: "1", "retry-after": "1" } };
}

function errorAnswer(status: number, message: string): ServingAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: message }) };
}
