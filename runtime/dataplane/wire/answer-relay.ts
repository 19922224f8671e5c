import type { RequestHead } from "./http1/request-head.ts";
import type { ResponseHead } from "./http1/response-head.ts";
import type { ClientConnection } from "./server/connection.ts";

/** Pieces up to this size are joined with what is written beside them: one system call less for a copy of a few microseconds. */
const JOIN_BYTES = 16_384;

/**
 * Hands one answer of a replica on to a client: hop-by-hop headers changed, bytes of the body as they came. What comes
 * with one read of the replica goes out with one write.
 */
export class AnswerRelay {
  readonly #client: ClientConnection;
  readonly #request: RequestHead;
  #out = "";
  #framing: "none" | "length" | "chunked" | "until-close" = "none";
  #keepAlive = false;
  #isEventStream = false;
  /** What was sent of the body ends with an empty line: between two events. */
  #isBetweenEvents = true;
  #flowing = true;
  /** Bytes of the answer are out: it can't be taken back. */
  started = false;

  constructor(client: ClientConnection, request: RequestHead) {
    this.#client = client;
    this.#request = request;
  }

  /** Starts the answer. `added` are whole header lines. */
  head(head: ResponseHead, added: string): void {
    const request = this.#request;
    const { framing } = head;
    this.#isEventStream = head.isEventStream;
    this.#keepAlive = this.#client.mayKeepAlive;
    let length = "";
    if (framing.kind === "length") {
      this.#framing = "length";
      length = `content-length: ${framing.bytes}\r\n`;
    } else if (framing.kind === "none") {
      this.#framing = "none";
      const isBodiless = head.status === 204 || head.status === 304;
      const stated = request.method === "HEAD" || isBodiless ? head.contentLength : 0;
      if (stated >= 0 && !(head.status === 204)) length = `content-length: ${stated}\r\n`;
    } else if (request.minorVersion === 1) {
      this.#framing = "chunked";
      length = "transfer-encoding: chunked\r\n";
    } else {
      this.#framing = "until-close";
      this.#keepAlive = false;
    }
    let connection = "";
    if (!this.#keepAlive) connection = "connection: close\r\n";
    else if (request.minorVersion === 0) connection = "connection: keep-alive\r\n";
    this.#out = `HTTP/1.1 ${head.statusText}\r\n${head.passedHeaders}${added}${length}${connection}\r\n`;
  }

  /** Takes a piece of the body, valid during the call only. */
  body(bytes: Buffer, start: number, end: number): void {
    if (this.#isEventStream) this.#isBetweenEvents = endsEvent(bytes, start, end);
    const size = end - start;
    const isChunked = this.#framing === "chunked";
    if (size <= JOIN_BYTES && this.#out.length <= JOIN_BYTES) {
      const text = bytes.toString("latin1", start, end);
      this.#out += isChunked ? `${size.toString(16)}\r\n${text}\r\n` : text;
      return;
    }
    if (isChunked) this.#out += `${size.toString(16)}\r\n`;
    this.#write();
    this.#write(Buffer.from(bytes.subarray(start, end)));
    if (isChunked) this.#out = "\r\n";
  }

  /** Writes what has gathered. False: the client is slow, wait for its drain. */
  flush(): boolean {
    this.#write();
    const flowing = this.#flowing;
    this.#flowing = true;
    return flowing;
  }

  /** The answer is complete. */
  end(): void {
    if (this.#framing === "chunked") this.#out += "0\r\n\r\n";
    this.#write();
    this.#client.finish(this.#keepAlive && this.#client.mayKeepAlive);
  }

  /**
   * The answer can't be completed. A stream of events gets `error` as its last event; in each case the connection is cut
   * without the mark of an end, so that no client takes a part for the whole.
   */
  breakOff(error: unknown): void {
    const isTellable = this.#isEventStream && this.#isBetweenEvents && this.#framing !== "length";
    if (isTellable) {
      const event = `data: ${JSON.stringify(error)}\n\n`;
      const size = Buffer.byteLength(event);
      const text = Buffer.from(event, "utf8").toString("latin1");
      this.#out += this.#framing === "chunked" ? `${size.toString(16)}\r\n${text}\r\n` : text;
      this.#write();
      // Ends our side in order, so that the event is read before the cut; the last chunk is never sent.
      this.#client.finish(false);
      return;
    }
    this.#client.destroy();
  }

  #write(data?: Buffer): void {
    const out = data ?? this.#out;
    if (data === undefined) this.#out = "";
    if (out.length === 0) return;
    this.started = true;
    this.#client.answerStarted = true;
    if (!this.#client.write(out)) this.#flowing = false;
  }
}

function endsEvent(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 2 || bytes[end - 1] !== 10) return false;
  return bytes[end - 2] === 10 || (bytes[end - 2] === 13 && bytes[end - 3] === 10);
}
