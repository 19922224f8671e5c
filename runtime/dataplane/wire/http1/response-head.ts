import type { BodyFraming } from "./body.ts";
import { CR, equalsLower, HTAB, IS_VALUE, LF, latin1, parseDecimal, SP } from "./chars.ts";
import { FieldReader, headEndOf, type Malformed } from "./fields.ts";
import type { Http1Limits } from "./limits.ts";
import type { HeadResult } from "./request-head.ts";

/** An answer's head as a replica sent it. */
export class ResponseHead {
  status = 0;
  /** `200 OK`: status and reason as the replica wrote them. */
  statusText = "";
  framing: BodyFraming = UNTIL_CLOSE;
  /** The Content-Length it stated, also where no body follows (HEAD, 304), or -1. */
  contentLength = -1;
  keepAlive = true;
  /** A stream of server-sent events. */
  isEventStream = false;
  /** Carries the header of a refusal before any work was done. */
  isRefusal = false;
  /** Says when to come again. */
  hasRetryAfter = false;
  /** Header lines to hand on, each ending in CRLF, hop-by-hop and rewritten ones left out. */
  passedHeaders = "";
}

const NO_BODY: BodyFraming = { kind: "none" };
const CHUNKED: BodyFraming = { kind: "chunked" };
const UNTIL_CLOSE: BodyFraming = { kind: "until-close" };

/** Parses one answer's head at `bytes[start, end)`, as strictly as a request's. `method` is the request's: an answer to HEAD has no body. */
export function parseResponseHead(
  bytes: Buffer,
  start: number,
  end: number,
  limits: Http1Limits,
  method: string,
): HeadResult<ResponseHead> {
  const found = headEndOf(bytes, start, end);
  const known = found >= 0;
  if (known ? found + 4 - start > limits.headBytes : end - start >= limits.headBytes) {
    return { kind: "malformed", why: "head-too-large" };
  }
  if (!known) return null;
  const head = new ResponseHead();
  const why = readHead(bytes, start, found + 2, limits, method, head);
  return why === null ? { kind: "head", head, endOffset: found + 4 } : { kind: "malformed", why };
}

const PREFIX = Buffer.from("HTTP/1.", "latin1");

function readHead(
  bytes: Buffer,
  start: number,
  end: number,
  limits: Http1Limits,
  method: string,
  head: ResponseHead,
): Malformed | null {
  for (let index = 0; index < PREFIX.length; index++) {
    if (bytes[start + index] !== PREFIX[index]) return "bad-start-line";
  }
  const minor = bytes[start + 7]! - 48;
  if ((minor !== 0 && minor !== 1) || bytes[start + 8] !== SP) return "bad-start-line";
  const status = parseDecimal(bytes, start + 9, start + 12);
  if (status < 100) return "bad-start-line";
  let at = start + 12;
  if (bytes[at] !== SP && bytes[at] !== CR) return "bad-start-line";
  while (IS_VALUE[bytes[at]!] === 1) at++;
  if (bytes[at] !== CR || bytes[at + 1] !== LF) return "bad-start-line";
  head.status = status;
  const text = latin1(bytes, start, end);
  head.statusText = text.substring(9, at - start);
  head.keepAlive = minor === 1;
  LINES.begin(bytes, at + 2, end, limits.headerCount, text, start);
  return FIELDS.read(bytes, head, method);
}

/** Reads the header lines of one answer after the other. */
class ResponseFields {
  readonly #lines: FieldReader;
  #head = new ResponseHead();
  #bytes: Buffer = Buffer.alloc(0);
  #lengths = 0;
  #codings = 0;
  #codingIsChunked = false;
  #closes = false;

  constructor(lines: FieldReader) {
    this.#lines = lines;
  }

  /** Reads the lines that the walk was begun with into `head`. */
  read(bytes: Buffer, head: ResponseHead, method: string): Malformed | null {
    const lines = this.#lines;
    this.#bytes = bytes;
    this.#head = head;
    this.#lengths = 0;
    this.#codings = 0;
    this.#closes = false;
    while (lines.next()) if (this.#read(lines.nameLength)) lines.leaveOut();
    return lines.malformed ?? this.#finish(method);
  }

  /** Reads a header; true where the line is not handed on as it is. */
  #read(length: number): boolean {
    const lines = this.#lines;
    const head = this.#head;
    switch (length) {
      case 7:
        return lines.is("upgrade") || lines.is("trailer");
      case 10:
        if (lines.is("keep-alive")) return true;
        if (!lines.is("connection")) return false;
        if (lines.valueIs("keep-alive")) head.keepAlive = true;
        else this.#readConnection(lines.value.toLowerCase());
        return true;
      case 11:
        if (lines.is("retry-after")) head.hasRetryAfter = true;
        return false;
      case 12:
        if (lines.is("content-type")) head.isEventStream = isEventStream(this.#bytes, lines.valueStart, lines.valueEnd);
        return lines.is("x-request-id");
      case 14:
        if (!lines.is("content-length")) return false;
        this.#lengths++;
        head.contentLength = parseDecimal(this.#bytes, lines.valueStart, lines.valueEnd);
        return true;
      case 16:
        return lines.is("proxy-connection");
      case 17:
        if (!lines.is("transfer-encoding")) return false;
        this.#codings++;
        this.#codingIsChunked = lines.valueIs("chunked");
        return true;
      case 18:
        if (lines.is("x-penstock-refused")) {
          head.isRefusal = true;
          return true;
        }
        return lines.is("x-penstock-version");
      default:
        return false;
    }
  }

  #readConnection(value: string): void {
    for (const option of value.split(",")) {
      const name = option.trim();
      if (name === "close") this.#closes = true;
      else if (name === "keep-alive") this.#head.keepAlive = true;
      else if (name !== "") this.#lines.nominate(name);
    }
  }

  #finish(method: string): Malformed | null {
    const head = this.#head;
    head.passedHeaders = this.#lines.passed();
    if (this.#closes) head.keepAlive = false;
    if (this.#lengths > 0 && this.#codings > 0) return "content-length-and-transfer-encoding";
    if (this.#lengths > 1 || (this.#lengths === 1 && head.contentLength < 0)) return "bad-content-length";
    if (this.#codings > 1 || (this.#codings === 1 && !this.#codingIsChunked)) return "bad-transfer-encoding";
    if (method === "HEAD" || head.status < 200 || head.status === 204 || head.status === 304) head.framing = NO_BODY;
    else if (this.#codings > 0) head.framing = CHUNKED;
    else if (this.#lengths > 0) {
      head.framing = head.contentLength === 0 ? NO_BODY : { kind: "length", bytes: head.contentLength };
    }
    if (head.framing.kind === "until-close") head.keepAlive = false;
    return null;
  }
}

/** The thread's one reader: a head is read in one synchronous go. */
const LINES = new FieldReader();
const FIELDS = new ResponseFields(LINES);

function isEventStream(bytes: Uint8Array, from: number, to: number): boolean {
  const length = "text/event-stream".length;
  if (!equalsLower(bytes, from, Math.min(to, from + length), "text/event-stream")) return false;
  const next = bytes[from + length];
  return to === from + length || next === 59 || next === SP || next === HTAB;
}
