import type { BodyFraming } from "./body.ts";
import { CR, hasBareLf, IS_HOST, IS_TARGET, IS_TOKEN, LF, latin1, parseDecimal, SP } from "./chars.ts";
import { FieldReader, headEndOf, type Malformed } from "./fields.ts";
import type { Http1Limits } from "./limits.ts";

/** A request's head: what the router needs of it, and the headers it hands on. */
export class RequestHead {
  method = "";
  /** Path and query, always starting with `/` (or `*`): the authority of an absolute-form target is cut off. */
  target = "";
  /** 0 or 1: HTTP/1.0 or HTTP/1.1. */
  minorVersion = 1;
  framing: BodyFraming = NO_BODY;
  keepAlive = true;
  expectContinue = false;
  /** An Expect header with anything but 100-continue. */
  expectUnknown = false;
  /** The protocol of an Upgrade header, or null. */
  upgrade: string | null = null;
  host = "";
  authorization: string | null = null;
  apiKey: string | null = null;
  requestId: string | null = null;
  traceparent: string | null = null;
  idempotencyKey: string | null = null;
  /** Endpoint named by a header, or null. */
  endpoint: string | null = null;
  forwardedFor: string | null = null;
  /** Header lines to hand on, each ending in CRLF, as the client wrote them, hop-by-hop and rewritten ones left out. */
  passedHeaders = "";
}

/** What parsing a head gives: a head, a fault, or null where more bytes are needed. */
export type HeadResult<H> =
  | { readonly kind: "head"; readonly head: H; readonly endOffset: number }
  | { readonly kind: "malformed"; readonly why: Malformed }
  | null;

const NO_BODY: BodyFraming = { kind: "none" };
const CHUNKED: BodyFraming = { kind: "chunked" };
/** RFC 9112 2.2 asks to ignore at least one empty line before a request; a few are enough. */
const MAX_LEADING_EMPTY_LINES = 4;
/** Headers a Connection header can't take away: the router's own reading depends on them. */
const NEVER_NOMINATED = new Set(["host", "content-length", "transfer-encoding", "authorization", "x-api-key"]);

/**
 * Parses one request head at `bytes[start, end)`. Strict RFC 9112: every deviation that two parsers could read in two ways
 * is malformed. Decides only on complete heads (and on bare LF), so any split of the bytes gives the same result.
 */
export function parseRequestHead(
  bytes: Buffer,
  start: number,
  end: number,
  limits: Http1Limits,
): HeadResult<RequestHead> {
  let at = start;
  for (let lines = 0; bytes[at] === CR && at < end; lines++) {
    if (at + 1 >= end) return null;
    if (bytes[at + 1] !== LF || lines === MAX_LEADING_EMPTY_LINES) return malformed("bad-start-line");
    at += 2;
  }
  if (at >= end) return null;
  const headEnd = headEndOf(bytes, at, end);
  const known = headEnd >= 0;
  const tooLarge = known ? headEnd + 4 - at > limits.headBytes : end - at >= limits.headBytes;
  if (!known || tooLarge) {
    if (hasBareLf(bytes, at, Math.min(end, at + limits.headBytes))) return malformed("bare-lf");
    return tooLarge ? malformed("head-too-large") : null;
  }
  const head = new RequestHead();
  const why = readHead(bytes, at, headEnd + 2, limits, head);
  if (why !== null) return malformed(hasBareLf(bytes, at, headEnd + 2) ? "bare-lf" : why);
  return { kind: "head", head, endOffset: headEnd + 4 };
}

function malformed(why: Malformed): { readonly kind: "malformed"; readonly why: Malformed } {
  return { kind: "malformed", why };
}

/** Reads the lines `bytes[start, end)` of a complete head. */
function readHead(bytes: Buffer, start: number, end: number, limits: Http1Limits, head: RequestHead): Malformed | null {
  const text = latin1(bytes, start, end);
  let at = start;
  while (IS_TOKEN[bytes[at]!] === 1) at++;
  if (at === start || at - start > 32 || bytes[at] !== SP) return "bad-start-line";
  head.method = text.substring(0, at - start);
  const targetStart = ++at;
  while (IS_TARGET[bytes[at]!] === 1) at++;
  if (at === targetStart || bytes[at] !== SP) return "bad-start-line";
  if (at - targetStart > limits.targetBytes) return "target-too-long";
  const target = readTarget(head.method, text.substring(targetStart - start, at - start));
  if (target === null) return "bad-start-line";
  head.target = target;
  const version = readVersion(bytes, at + 1);
  if (typeof version === "string") return version;
  head.minorVersion = version;
  head.keepAlive = version === 1;
  LINES.begin(bytes, at + 11, end, limits.headerCount, text, start);
  return FIELDS.read(bytes, head);
}

/** The minor version of `HTTP/1.x CRLF` at `at`, or why not. */
function readVersion(bytes: Buffer, at: number): number | Malformed {
  const isHttp =
    bytes[at] === 72 && bytes[at + 1] === 84 && bytes[at + 2] === 84 && bytes[at + 3] === 80 && bytes[at + 4] === 47;
  const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 48 && byte <= 57;
  const major = bytes[at + 5];
  const minor = bytes[at + 7];
  if (!isHttp || !isDigit(major) || bytes[at + 6] !== 46 || !isDigit(minor)) return "bad-start-line";
  if (bytes[at + 8] !== CR || bytes[at + 9] !== LF) return "bad-start-line";
  if (major !== 49 || minor! > 49) return "unsupported-version";
  return minor! - 48;
}

/** Origin-form of a target (RFC 9112 3.2), `*` and a CONNECT's authority as they are, or null. */
function readTarget(method: string, target: string): string | null {
  if (target.charCodeAt(0) === 47) return target;
  if (method === "CONNECT") return target;
  if (target === "*") return method === "OPTIONS" ? target : null;
  const scheme = /^https?:\/\/[^/?@]+/i.exec(target);
  if (scheme === null) return null;
  const rest = target.slice(scheme[0].length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** Reads the header lines of one head after the other: what it keeps between two lines is set anew for each head. */
class RequestFields {
  readonly #lines: FieldReader;
  #head = new RequestHead();
  #bytes: Uint8Array = new Uint8Array(0);
  #hosts = 0;
  #isBadHost = false;
  #lengths = 0;
  #contentLength = -1;
  #codings = 0;
  #codingIsChunked = false;
  #closes = false;

  constructor(lines: FieldReader) {
    this.#lines = lines;
  }

  /** Reads the lines that the walk was begun with into `head`. */
  read(bytes: Uint8Array, head: RequestHead): Malformed | null {
    const lines = this.#lines;
    this.#bytes = bytes;
    this.#head = head;
    this.#hosts = 0;
    this.#isBadHost = false;
    this.#lengths = 0;
    this.#codings = 0;
    this.#closes = false;
    while (lines.next()) {
      const length = lines.nameLength;
      const isOurs =
        length < 10 ? this.#readShort(length) : length < 14 ? this.#readMiddle(length) : this.#readLong(length);
      if (isOurs) lines.leaveOut();
      if (this.#isBadHost) return "bad-host";
    }
    return lines.malformed ?? this.#finish();
  }

  /** Reads a header with a name of up to 9 bytes; true where the line is not handed on as it is. */
  #readShort(length: number): boolean {
    const lines = this.#lines;
    const head = this.#head;
    switch (length) {
      case 2:
        return lines.is("te");
      case 4:
        if (!lines.is("host")) return false;
        this.#hosts++;
        for (let at = lines.valueStart; at < lines.valueEnd; at++) {
          if (IS_HOST[this.#bytes[at]!] !== 1) this.#isBadHost = true;
        }
        head.host = lines.value;
        return true;
      case 6:
        if (!lines.is("expect")) return false;
        if (lines.valueIs("100-continue")) head.expectContinue = true;
        else head.expectUnknown = true;
        return true;
      case 7:
        if (lines.is("trailer")) return true;
        if (!lines.is("upgrade")) return false;
        head.upgrade = lines.value;
        return true;
      case 9:
        if (!lines.is("x-api-key")) return false;
        head.apiKey = lines.value;
        return true;
      default:
        return false;
    }
  }

  /** The same for names of 10 to 13 bytes. */
  #readMiddle(length: number): boolean {
    const lines = this.#lines;
    const head = this.#head;
    switch (length) {
      case 10:
        if (lines.is("keep-alive")) return true;
        if (!lines.is("connection")) return false;
        this.#readConnection();
        return true;
      case 11:
        if (!lines.is("traceparent")) return false;
        head.traceparent = lines.value;
        return true;
      case 12:
        if (!lines.is("x-request-id")) return false;
        head.requestId = lines.value;
        return true;
      case 13:
        if (!lines.is("authorization")) return false;
        head.authorization = lines.value;
        return true;
      default:
        return false;
    }
  }

  /** The same for longer names. */
  #readLong(length: number): boolean {
    const lines = this.#lines;
    const head = this.#head;
    switch (length) {
      case 14:
        if (lines.is("http2-settings")) return true;
        if (!lines.is("content-length")) return false;
        this.#lengths++;
        this.#contentLength = parseDecimal(this.#bytes, lines.valueStart, lines.valueEnd);
        return true;
      case 15:
        if (lines.is("idempotency-key")) head.idempotencyKey = lines.value;
        if (!lines.is("x-forwarded-for")) return false;
        head.forwardedFor = (head.forwardedFor === null ? "" : `${head.forwardedFor}, `) + lines.value;
        return true;
      case 16:
        return lines.is("proxy-connection") || lines.is("x-forwarded-host");
      case 17:
        if (lines.is("x-forwarded-proto")) return true;
        if (!lines.is("transfer-encoding")) return false;
        this.#codings++;
        this.#codingIsChunked = lines.valueIs("chunked");
        return true;
      case 19:
        if (lines.is("x-penstock-endpoint")) head.endpoint = lines.value;
        return lines.is("proxy-authorization");
      default:
        return false;
    }
  }

  #readConnection(): void {
    const lines = this.#lines;
    if (lines.valueIs("keep-alive")) this.#head.keepAlive = true;
    else if (lines.valueIs("close")) this.#closes = true;
    else {
      for (const option of lines.value.toLowerCase().split(",")) {
        const name = option.trim();
        if (name === "close") this.#closes = true;
        else if (name === "keep-alive") this.#head.keepAlive = true;
        else if (name !== "" && !NEVER_NOMINATED.has(name)) lines.nominate(name);
      }
    }
  }

  /** Checks what concerns all headers together. */
  #finish(): Malformed | null {
    const head = this.#head;
    head.passedHeaders = this.#lines.passed();
    if (this.#closes) head.keepAlive = false;
    if (this.#hosts > 1) return "bad-host";
    if (this.#hosts === 0 && head.minorVersion === 1) return "missing-host";
    if (this.#lengths > 0 && this.#codings > 0) return "content-length-and-transfer-encoding";
    if (this.#lengths > 1 || (this.#lengths === 1 && this.#contentLength < 0)) return "bad-content-length";
    if (this.#codings > 0) {
      if (this.#codings > 1 || head.minorVersion === 0) return "bad-transfer-encoding";
      if (!this.#codingIsChunked) return "unknown-transfer-coding";
      head.framing = CHUNKED;
    } else if (this.#lengths > 0 && this.#contentLength > 0)
      head.framing = { kind: "length", bytes: this.#contentLength };
    return null;
  }
}

/** The thread's one reader: a head is read in one synchronous go. */
const LINES = new FieldReader();
const FIELDS = new RequestFields(LINES);
