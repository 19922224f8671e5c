import { COLON, CR, HTAB, IS_TOKEN, IS_VALUE, LF, latin1, SP } from "./chars.ts";

/** Why a message can't be read; each one ends the connection. */
export type Malformed =
  | "bare-lf"
  | "bad-start-line"
  | "bad-header-name"
  | "bad-header-value"
  | "obs-fold"
  | "too-many-headers"
  | "bad-host"
  | "missing-host"
  | "bad-content-length"
  | "content-length-and-transfer-encoding"
  | "bad-transfer-encoding"
  | "bad-chunk"
  | "target-too-long"
  | "head-too-large"
  | "unknown-transfer-coding"
  | "unsupported-version";

/** Receives each header line's bounds: name [nameStart, nameEnd), value without blanks [valueStart, valueEnd), the line up to lineEnd (after CRLF). */
export type FieldVisitor = (
  nameStart: number,
  nameEnd: number,
  valueStart: number,
  valueEnd: number,
  lineEnd: number,
) => Malformed | null;

/**
 * Walks header lines in `bytes[start, end)`, `end` being just after the last line's CRLF (the empty line is left out).
 * Strict: a name is a token with the colon right behind it, no obs-fold, no bare CR or LF, no control bytes.
 */
export function visitFields(
  bytes: Uint8Array,
  start: number,
  end: number,
  maxCount: number,
  visit: FieldVisitor,
): Malformed | null {
  let at = start;
  let count = 0;
  while (at < end) {
    if (++count > maxCount) return "too-many-headers";
    const nameStart = at;
    while (IS_TOKEN[bytes[at]!] === 1) at++;
    if (at === nameStart || bytes[at] !== COLON) {
      return bytes[nameStart] === SP || bytes[nameStart] === HTAB ? "obs-fold" : "bad-header-name";
    }
    const nameEnd = at++;
    while (bytes[at] === SP || bytes[at] === HTAB) at++;
    const valueStart = at;
    while (IS_VALUE[bytes[at]!] === 1) at++;
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return "bad-header-value";
    let valueEnd = at;
    while (valueEnd > valueStart && (bytes[valueEnd - 1] === SP || bytes[valueEnd - 1] === HTAB)) valueEnd--;
    at += 2;
    const malformed = visit(nameStart, nameEnd, valueStart, valueEnd, at);
    if (malformed !== null) return malformed;
  }
  return null;
}

/** Text of the header lines that are handed on, gathered in as few pieces as the lines left out allow. */
export class PassedHeaders {
  readonly #bytes: Buffer;
  #keptFrom: number;
  #text = "";
  #nominated: string[] | null = null;

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.#keptFrom = start;
  }

  /** Leaves one line out. Lines must come in order. */
  leaveOut(lineStart: number, lineEnd: number): void {
    if (lineStart > this.#keptFrom) this.#text += latin1(this.#bytes, this.#keptFrom, lineStart);
    this.#keptFrom = lineEnd;
  }

  /** Leaves out all lines of a (lower-case) name that a Connection header nominates. */
  nominate(name: string): void {
    this.#nominated ??= [];
    this.#nominated.push(name);
  }

  /** The text, each line ending in CRLF. `end` is where the last line ends. */
  finish(end: number): string {
    if (this.#keptFrom < end) this.#text += latin1(this.#bytes, this.#keptFrom, end);
    const nominated = this.#nominated;
    if (nominated === null) return this.#text;
    const isKept = (line: string) => line !== "" && !nominated.includes(line.slice(0, line.indexOf(":")).toLowerCase());
    return this.#text
      .split("\r\n")
      .filter(isKept)
      .map((line) => `${line}\r\n`)
      .join("");
  }
}
