import { ChunkedDecoder, type DecodeResult, type PieceVisitor } from "./chunked.ts";

/** How long a message's body is (RFC 9112 6.3). */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** Answers only: the body ends with the connection. */
  | { readonly kind: "until-close" };

/** Reads one body out of a byte stream; the same contract as ChunkedDecoder for every framing. */
export interface BodyReader {
  /** The first byte after what the last `push` took. */
  endOffset: number;
  push(bytes: Buffer, start: number, end: number, visit: PieceVisitor): DecodeResult;
}

class LengthReader implements BodyReader {
  endOffset = 0;
  #remaining: number;

  constructor(bytes: number) {
    this.#remaining = bytes;
  }

  push(bytes: Buffer, start: number, end: number, visit: PieceVisitor): DecodeResult {
    const take = Math.min(this.#remaining, end - start);
    if (take > 0) visit(bytes, start, start + take);
    this.#remaining -= take;
    this.endOffset = start + take;
    return this.#remaining === 0 ? "done" : "more";
  }
}

/** Makes the reader of a body with the given framing. A reader of `none` must not be asked for. */
export function bodyReader(
  framing: Exclude<BodyFraming, { kind: "none" }>,
  limits: { readonly chunkLineBytes: number; readonly trailerBytes: number },
): BodyReader {
  if (framing.kind === "chunked") return new ChunkedDecoder(limits);
  return new LengthReader(framing.kind === "length" ? framing.bytes : Number.POSITIVE_INFINITY);
}
