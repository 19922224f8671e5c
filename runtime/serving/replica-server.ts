import { type AddressInfo, createServer, type Server } from "node:net";
import { HEADERS } from "../contract/names.ts";
import { Deadlines } from "../dataplane/wire/deadlines.ts";
import { DEFAULT_LIMITS } from "../dataplane/wire/http1/limits.ts";
import type { RequestHead } from "../dataplane/wire/http1/request-head.ts";
import { ClientConnection, type ConnectionHost, type RequestHandler } from "../dataplane/wire/server/connection.ts";
import type { Address } from "../domain/replica.ts";
import type { Engine, ServingAnswer } from "./contract.ts";
import type { ReplicaCounters } from "./replica-counters.ts";
import { errorAnswer, headerOf, PlainExchange, ReplicaExchange } from "./replica-exchange.ts";

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
 * Serves an engine that lives in this process over the router's own HTTP/1.1 engine (half of node:http's CPU per request):
 * counts each request, refuses above the cap before the body is read, streams, tells the engine when a client has gone,
 * and drains.
 */
export class ReplicaServer implements ConnectionHost {
  readonly limits = DEFAULT_LIMITS;
  readonly deadlines = new Deadlines();
  isStopping = false;
  readonly #options: ReplicaServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<ClientConnection>();
  readonly #cap: number;
  #onEmpty: (() => void) | null = null;

  constructor(options: ReplicaServerOptions) {
    this.#options = options;
    const unbounded = Number.POSITIVE_INFINITY;
    this.#cap = Math.min(options.maxInFlight ?? unbounded, options.engine.maxInFlight ?? unbounded);
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#connections.add(new ClientConnection(socket, this));
    });
    this.#server.maxConnections = this.limits.connections;
  }

  /** Listens on a port of `host`; 0 = any free one. */
  async listen(host: string, port = 0): Promise<Address> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, backlog: 4096 }, resolve);
    });
    return { host, port: (this.#server.address() as AddressInfo).port };
  }

  /** Takes no new work; resolves when all that was in flight has been answered and its connections are closed. */
  async drain(): Promise<void> {
    this.isStopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.stop();
    const empty = new Promise<void>((resolve) => {
      if (this.#connections.size === 0) resolve();
      else this.#onEmpty = resolve;
    });
    await Promise.all([closed, empty]);
  }

  handle(client: ClientConnection, head: RequestHead): RequestHandler {
    const { engine, counters, probeSecret, onFault } = this.#options;
    const query = head.target.indexOf("?");
    const path = query < 0 ? head.target : head.target.slice(0, query);
    const route = engine.route(head.method, path);
    if (route === null)
      return new PlainExchange(client, head, errorAnswer(404, `no such path on this replica: ${path}`));
    const probe = headerOf(head, HEADERS.probe) === probeSecret;
    if (route.requestClass !== null && !probe && this.#isFull()) {
      counters.count("refusedTotal", 1);
      return new PlainExchange(client, head, REFUSAL);
    }
    client.sendContinue();
    return new ReplicaExchange({ client, head, path, route, probe, counters, onFault });
  }

  onClose(connection: ClientConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size === 0) this.#onEmpty?.();
  }

  #isFull(): boolean {
    return this.isStopping || this.#options.counters.inFlight() >= this.#cap;
  }
}

const FULL = errorAnswer(503, "the replica is at its concurrency limit");
const REFUSAL: ServingAnswer = { ...FULL, headers: { ...FULL.headers, [HEADERS.refused]: "1", "retry-after": "1" } };
