import { CR, HEX_VALUE, IS_VALUE, LF } from "./chars.ts";

/** Receives one piece of a body: `bytes[start, end)`, valid during the call only. */
export type PieceVisitor = (bytes: Buffer, start: number, end: number) => void;

type State =
  | "size"
  | "extension"
  | "size-lf"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailer-start"
  | "trailer"
  | "trailer-lf"
  | "end-lf"
  | "done";

/** What the decoder says after each call: more bytes are wanted, the body is complete, or it is malformed. */
export type DecodeResult = "more" | "done" | "malformed";

/**
 * Incremental decoder of the chunked coding (RFC 9112 7.1), strict: hex digits only, CRLF only, bounded lines and
 * trailers. Chunk extensions and trailers are read and dropped. Any split of the bytes gives the same pieces joined.
 */
export class ChunkedDecoder {
  readonly #lineBytesMax: number;
  readonly #trailerBytesMax: number;
  #state: State = "size";
  #remaining = 0;
  #digits = 0;
  #lineBytes = 0;
  #trailerBytes = 0;
  /** Where the last call stopped: the first byte that isn't the body's. */
  endOffset = 0;

  constructor(limits: { readonly chunkLineBytes: number; readonly trailerBytes: number }) {
    this.#lineBytesMax = limits.chunkLineBytes;
    this.#trailerBytesMax = limits.trailerBytes;
  }

  /** Takes `bytes[start, end)`; calls `visit` for each piece of data. On `done`, `endOffset` tells where the next message starts. */
  push(bytes: Buffer, start: number, end: number, visit: PieceVisitor): DecodeResult {
    let at = start;
    while (at < end) {
      if (this.#state === "data") {
        const take = Math.min(this.#remaining, end - at);
        visit(bytes, at, at + take);
        at += take;
        this.#remaining -= take;
        if (this.#remaining === 0) this.#state = "data-cr";
        continue;
      }
      if (!this.#step(bytes[at]!)) return "malformed";
      at++;
      if (this.#state === "done") {
        this.endOffset = at;
        return "done";
      }
    }
    this.endOffset = at;
    return "more";
  }

  #step(byte: number): boolean {
    switch (this.#state) {
      case "size":
        return this.#sizeByte(byte);
      case "extension":
        if (byte === CR) this.#state = "size-lf";
        else if (IS_VALUE[byte] !== 1) return false;
        return ++this.#lineBytes <= this.#lineBytesMax;
      case "size-lf":
        this.#state = this.#remaining === 0 ? "trailer-start" : "data";
        return byte === LF;
      case "data-cr":
        this.#state = "data-lf";
        return byte === CR;
      case "data-lf":
        this.#state = "size";
        this.#digits = 0;
        this.#lineBytes = 0;
        return byte === LF;
      case "trailer-start":
        if (byte === CR) {
          this.#state = "end-lf";
          return true;
        }
        this.#state = "trailer";
        return IS_VALUE[byte] === 1 && ++this.#trailerBytes <= this.#trailerBytesMax;
      case "trailer":
        if (byte === CR) this.#state = "trailer-lf";
        else if (IS_VALUE[byte] !== 1) return false;
        return ++this.#trailerBytes <= this.#trailerBytesMax;
      case "trailer-lf":
        this.#state = "trailer-start";
        return byte === LF;
      case "end-lf":
        this.#state = "done";
        return byte === LF;
      default:
        return false;
    }
  }

  #sizeByte(byte: number): boolean {
    const digit = HEX_VALUE[byte]!;
    if (digit !== 255) {
      // 13 hex digits stay exact in a double; more can only be an attack or leading zeros nobody sends.
      if (++this.#digits > 13) return false;
      this.#remaining = this.#digits === 1 ? digit : this.#remaining * 16 + digit;
      return true;
    }
    if (this.#digits === 0) return false;
    if (byte === CR) this.#state = "size-lf";
    else if (byte === 59 /* ; */) this.#state = "extension";
    else return false;
    return true;
  }
}
