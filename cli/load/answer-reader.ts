/** Largest answer head that is read. */
const MAX_HEAD_BYTES = 64 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");

/** What the reader tells as an answer comes in. */
export interface AnswerSink {
  /** A piece of the body, framing taken off; valid during the call only. */
  body(piece: Buffer): void;
  /** The answer is whole; `keepAlive`: the connection may carry another request. */
  end(status: number, keepAlive: boolean): void;
}

/**
 * Reads HTTP/1.1 answers of one request at a time: content-length, chunked, or until the connection's end.
 * Errors: Error on what is no HTTP/1.1 answer.
 */
export class AnswerReader {
  readonly #sink: AnswerSink;
  #state: "head" | "length" | "chunk-size" | "chunk-data" | "trailer" | "until-close" = "head";
  #held: Buffer | null = null;
  #left = 0;
  #status = 0;
  #keepAlive = true;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** Takes the next bytes, which may be overwritten after the call. */
  push(chunk: Buffer): void {
    let bytes: Buffer | null = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = null;
    while (bytes !== null && bytes.length > 0) bytes = this.#step(bytes);
  }

  /** The connection ended; true when that ends the answer as it should. */
  closed(): boolean {
    if (this.#state !== "until-close") return false;
    this.#finish();
    return true;
  }

  /** Reads one piece; returns what is left, or null when more must come. */
  #step(bytes: Buffer): Buffer | null {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes);
      case "chunk-size":
        return this.#readLine(bytes, (line) => {
          this.#left = Number.parseInt(line, 16);
          if (Number.isNaN(this.#left)) throw new Error("bad chunk size");
          this.#state = this.#left === 0 ? "trailer" : "chunk-data";
        });
      case "trailer":
        return this.#readLine(bytes, (line) => {
          if (line === "") this.#finish();
        });
      case "until-close":
        this.#sink.body(bytes);
        return null;
      case "length":
      case "chunk-data":
        return this.#readBody(bytes);
    }
  }

  #readHead(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) {
      if (bytes.length > MAX_HEAD_BYTES) throw new Error("answer head too long");
      this.#held = Buffer.from(bytes);
      return null;
    }
    const head = bytes.toString("latin1", 0, end);
    this.#status = Number(head.slice(9, 12));
    if (!head.startsWith("HTTP/1.") || !(this.#status >= 100 && this.#status < 600))
      throw new Error("not an HTTP answer");
    const rest = bytes.subarray(end + HEAD_END.length);
    if (this.#status < 200) return rest;
    this.#keepAlive = !/\r\nconnection:[^\r]*\bclose\b/i.test(head) && head[7] === "1";
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (/\r\ntransfer-encoding:[^\r]*chunked/i.test(head)) this.#state = "chunk-size";
    else if (length !== undefined) {
      this.#left = Number(length);
      this.#state = "length";
      if (this.#left === 0) this.#finish();
    } else if (this.#status === 204 || this.#status === 304) this.#finish();
    else this.#state = "until-close";
    return rest;
  }

  #readBody(bytes: Buffer): Buffer | null {
    const taken = Math.min(this.#left, bytes.length);
    // A chunk's data is followed by CRLF, which `chunk-size` sees as an empty line.
    this.#sink.body(bytes.subarray(0, taken));
    this.#left -= taken;
    if (this.#left === 0) {
      if (this.#state === "length") this.#finish();
      else this.#state = "chunk-size";
    }
    return bytes.subarray(taken);
  }

  #readLine(bytes: Buffer, take: (line: string) => void): Buffer | null {
    const end = bytes.indexOf(0x0a);
    if (end < 0) {
      this.#held = Buffer.from(bytes);
      return null;
    }
    const line = bytes.toString("latin1", 0, end).trim();
    if (line !== "" || this.#state === "trailer") take(line);
    return bytes.subarray(end + 1);
  }

  #finish(): void {
    const keepAlive = this.#keepAlive && this.#state !== "until-close";
    this.#state = "head";
    this.#sink.end(this.#status, keepAlive);
  }
}
