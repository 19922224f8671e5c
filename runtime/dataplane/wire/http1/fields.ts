import { COLON, CR, equalsLower, HTAB, IS_TOKEN, IS_VALUE, LF, SP } from "./chars.ts";

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

/** Where the empty line that ends a head begins, as the index of its `CRLFCRLF` in `bytes[start, end)`, or -1. */
export function headEndOf(bytes: Uint8Array, start: number, end: number): number {
  // Looks at every fourth byte until one of the mark's turns up: a native search costs more than it takes here.
  for (let at = start + 3; at < end; ) {
    const byte = bytes[at]!;
    if (byte === LF) {
      if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at - 3;
      at += 2;
    } else at += byte === CR ? 1 : 4;
  }
  return -1;
}

/**
 * Walks the header lines of one head and gathers those that are handed on. Made once and used for one head after the
 * other: a head is read in one go, and a parser for each would be most of what it costs.
 * Strict: a name is a token with the colon right behind it, no obs-fold, no bare CR or LF, no control bytes.
 */
export class FieldReader {
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;
  #countLeft = 0;
  #nameStart = 0;
  #nameEnd = 0;
  valueStart = 0;
  valueEnd = 0;
  /** Why the walk ended early. */
  malformed: Malformed | null = null;
  #text = "";
  #textStart = 0;
  #keptFrom = 0;
  #passed = "";
  #nominated: string[] | null = null;

  /**
   * Starts at the lines `bytes[start, end)`, `end` being just after the last one's CRLF (the empty line is left out).
   * `text` is the bytes from `textStart` on as latin1: one call for the whole head, and each header is a piece of it.
   */
  begin(bytes: Uint8Array, start: number, end: number, maxCount: number, text: string, textStart: number): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#countLeft = maxCount;
    this.malformed = null;
    this.#text = text;
    this.#textStart = textStart;
    this.#keptFrom = start;
    this.#passed = "";
    this.#nominated = null;
  }

  /** Moves to the next line. False: there is none, or it is malformed. */
  next(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    if (at >= this.#end) return false;
    if (--this.#countLeft < 0) return this.#fail("too-many-headers");
    const nameStart = at;
    while (IS_TOKEN[bytes[at]!] === 1) at++;
    if (at === nameStart || bytes[at] !== COLON) {
      return this.#fail(bytes[nameStart] === SP || bytes[nameStart] === HTAB ? "obs-fold" : "bad-header-name");
    }
    this.#nameStart = nameStart;
    this.#nameEnd = at++;
    while (bytes[at] === SP || bytes[at] === HTAB) at++;
    this.valueStart = at;
    while (IS_VALUE[bytes[at]!] === 1) at++;
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return this.#fail("bad-header-value");
    let valueEnd = at;
    while (valueEnd > this.valueStart && (bytes[valueEnd - 1] === SP || bytes[valueEnd - 1] === HTAB)) valueEnd--;
    this.valueEnd = valueEnd;
    this.#at = at + 2;
    return true;
  }

  get nameLength(): number {
    return this.#nameEnd - this.#nameStart;
  }

  /** Whether the line's name is `lower`, which must be lower-case. */
  is(lower: string): boolean {
    return equalsLower(this.#bytes, this.#nameStart, this.#nameEnd, lower);
  }

  /** Whether the line's value is `lower`, which must be lower-case. */
  valueIs(lower: string): boolean {
    return equalsLower(this.#bytes, this.valueStart, this.valueEnd, lower);
  }

  /** The line's value without the blanks around it. */
  get value(): string {
    return this.#text.substring(this.valueStart - this.#textStart, this.valueEnd - this.#textStart);
  }

  /** The line is not handed on. */
  leaveOut(): void {
    this.#keepUpTo(this.#nameStart);
    this.#keptFrom = this.#at;
  }

  /** Leaves out all lines of a (lower-case) name that a Connection header nominates. */
  nominate(name: string): void {
    this.#nominated ??= [];
    this.#nominated.push(name);
  }

  /** After the last line: those that are handed on, each ending in CRLF. */
  passed(): string {
    this.#keepUpTo(this.#end);
    const nominated = this.#nominated;
    if (nominated === null) return this.#passed;
    const isKept = (line: string) => line !== "" && !nominated.includes(line.slice(0, line.indexOf(":")).toLowerCase());
    return this.#passed
      .split("\r\n")
      .filter(isKept)
      .map((line) => `${line}\r\n`)
      .join("");
  }

  #keepUpTo(end: number): void {
    const from = this.#keptFrom;
    if (end > from) this.#passed += this.#text.substring(from - this.#textStart, end - this.#textStart);
  }

  #fail(why: Malformed): false {
    this.malformed = why;
    return false;
  }
}
