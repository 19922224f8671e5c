import { STATUS_CODES } from "node:http";
import type { RequestHead } from "../dataplane/wire/http1/request-head.ts";
import { RequestBody } from "../dataplane/wire/request-body.ts";
import type { ClientConnection, RequestHandler } from "../dataplane/wire/server/connection.ts";
import type { Route, ServingAnswer, ServingRequest } from "./contract.ts";
import type { ReplicaCounters } from "./replica-counters.ts";

/** Largest body a replica reads. The endpoint's own, smaller bound is the router's work; this one saves the process. */
const MAX_BODY_BYTES = 1024 ** 3;

/** What one request needs of its server. */
export interface ExchangeContext {
  readonly client: ClientConnection;
  readonly head: RequestHead;
  /** Path without the query. */
  readonly path: string;
  readonly route: Route;
  readonly probe: boolean;
  readonly counters: ReplicaCounters;
  onFault(error: unknown): void;
}

/** One request on its way through an engine: gathers the body, counts, writes the answer whole or as it comes. */
export class ReplicaExchange implements RequestHandler {
  readonly #context: ExchangeContext;
  readonly #body = new RequestBody();
  /** Class it is counted under, or null. */
  readonly #counted: string | null;
  readonly #startedAtMs: number;
  readonly #gone: (() => void)[] = [];
  #isOver = false;
  #onDrained: (() => void) | null = null;

  constructor(context: ExchangeContext) {
    const { route, probe, counters } = context;
    this.#context = context;
    this.#counted = probe ? null : route.requestClass;
    this.#startedAtMs = this.#counted === null ? 0 : counters.started(this.#counted);
  }

  onClientGone(): void {
    if (this.#isOver) return;
    this.#end(false);
    for (const told of this.#gone) told();
    this.#onDrained?.();
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    if (this.#isOver) return;
    this.#body.add(bytes, start, end);
    if (this.#body.bytes <= MAX_BODY_BYTES) return;
    this.#body.release();
    this.#answerWhole(errorAnswer(413, `body is over ${MAX_BODY_BYTES} bytes`));
  }

  onBodyEnd(): void {
    if (!this.#isOver) void this.#run();
  }

  onDrain(): void {
    this.#onDrained?.();
  }

  async #run(): Promise<void> {
    try {
      const answer = await this.#context.route.handle(this.#asEngineSees());
      const { body } = answer;
      if (typeof body === "string" || body instanceof Uint8Array) this.#answerWhole(answer);
      else await this.#answerAsItComes(answer, body);
    } catch (error) {
      this.#context.onFault(error);
      if (this.#isOver) return;
      if (this.#context.client.answerStarted) {
        this.#end(false, true);
        this.#context.client.destroy();
      } else this.#answerWhole(errorAnswer(500, "the replica failed on this request"));
    }
  }

  #asEngineSees(): ServingRequest {
    const { head, path, probe } = this.#context;
    return {
      method: head.method,
      path,
      header: (name) => headerOf(head, name),
      body: this.#body.joined(),
      probe,
      onClientGone: (callback) => {
        if (this.#isOver) callback();
        else this.#gone.push(callback);
      },
    };
  }

  #answerWhole(answer: ServingAnswer): void {
    if (this.#isOver) return;
    this.#end(true, answer.status >= 500);
    writeWhole(this.#context.client, this.#context.head, answer);
  }

  async #answerAsItComes(answer: ServingAnswer, pieces: AsyncIterable<string>): Promise<void> {
    const { client, head } = this.#context;
    const isChunked = head.minorVersion === 1;
    const keepAlive = isChunked && client.mayKeepAlive;
    if (!this.#isOver) {
      client.answerStarted = true;
      client.write(headText(answer, isChunked ? "transfer-encoding: chunked\r\n" : "", keepAlive));
    }
    for await (const piece of pieces) {
      // Leaving the loop calls the iterator's `return`, which frees what the engine holds for it.
      if (this.#isOver) return;
      if (piece === "") continue;
      const bytes = Buffer.from(piece, "utf8");
      const framed = isChunked ? `${bytes.length.toString(16)}\r\n${bytes.toString("latin1")}\r\n` : bytes;
      if (!client.write(framed)) await this.#drained();
    }
    if (this.#isOver) return;
    this.#end(true, answer.status >= 500);
    if (isChunked) client.write("0\r\n\r\n");
    client.finish(keepAlive && client.mayKeepAlive);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = () => {
        this.#onDrained = null;
        resolve();
      };
    });
  }

  /** It leaves the counters, answered or not. */
  #end(answered: boolean, failed = false): void {
    this.#isOver = true;
    if (this.#counted === null) return;
    const { counters } = this.#context;
    if (answered) counters.progressed(this.#counted, 1);
    counters.finished(this.#counted, this.#startedAtMs, failed);
  }
}

/**
 * A request that no engine sees: its answer is known from the head. A body that came with the head is read, so that the
 * connection can go on being used; one that is still on its way is not waited for.
 */
export class PlainExchange implements RequestHandler {
  #answer: (() => void) | null;

  constructor(client: ClientConnection, head: RequestHead, answer: ServingAnswer) {
    this.#answer = () => writeWhole(client, head, answer);
    setImmediate(() => this.onBodyEnd());
  }

  onBody(): void {}

  onBodyEnd(): void {
    const answer = this.#answer;
    this.#answer = null;
    answer?.();
  }

  onClientGone(): void {
    this.#answer = null;
  }

  onDrain(): void {}
}

/** An error in plain JSON. */
export function errorAnswer(status: number, message: string): ServingAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: message }) };
}

/** Value of a header by its lower-case name, or null; the first one where it stands several times. */
export function headerOf({ passedHeaders }: RequestHead, name: string): string | null {
  for (let at = 0; at < passedHeaders.length; ) {
    const end = passedHeaders.indexOf("\r\n", at);
    const colon = at + name.length;
    if (passedHeaders[colon] === ":" && passedHeaders.slice(at, colon).toLowerCase() === name) {
      return passedHeaders.slice(colon + 1, end).trim();
    }
    at = end + 2;
  }
  return null;
}

function writeWhole(client: ClientConnection, head: RequestHead, answer: ServingAnswer): void {
  const body = answer.body as string | Uint8Array;
  const keepAlive = head.minorVersion === 1 && client.mayKeepAlive;
  const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  const text = headText(answer, `content-length: ${bytes}\r\n`, keepAlive);
  if (head.method === "HEAD" || bytes === 0) client.write(text);
  // Plain ASCII, as numbers in JSON are, goes out as one text in one system call.
  else if (typeof body === "string" && bytes === body.length) client.write(text + body);
  else client.write(Buffer.concat([Buffer.from(text, "latin1"), typeof body === "string" ? Buffer.from(body) : body]));
  client.finish(keepAlive);
}

function headText({ status, headers }: ServingAnswer, framing: string, keepAlive: boolean): string {
  let lines = "";
  for (const name of Object.keys(headers)) lines += `${name}: ${headers[name]}\r\n`;
  const connection = keepAlive ? "" : "connection: close\r\n";
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n${lines}${framing}${connection}\r\n`;
}
