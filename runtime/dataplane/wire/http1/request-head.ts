import type { BodyFraming } from "./body.ts";
import { CR, equalsLower, hasBareLf, IS_HOST, IS_TARGET, IS_TOKEN, LF, latin1, parseDecimal, SP } from "./chars.ts";
import { type FieldVisitor, type Malformed, PassedHeaders, visitFields } from "./fields.ts";
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
  const headEnd = bytes.indexOf("\r\n\r\n", at, "latin1");
  const known = headEnd >= 0 && headEnd + 4 <= end;
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

function readHead(bytes: Buffer, start: number, end: number, limits: Http1Limits, head: RequestHead): Malformed | null {
  let at = start;
  while (IS_TOKEN[bytes[at]!] === 1) at++;
  if (at === start || at - start > 32 || bytes[at] !== SP) return "bad-start-line";
  head.method = latin1(bytes, start, at);
  const targetStart = ++at;
  while (IS_TARGET[bytes[at]!] === 1) at++;
  if (at === targetStart || bytes[at] !== SP) return "bad-start-line";
  if (at - targetStart > limits.targetBytes) return "target-too-long";
  const target = readTarget(head.method, latin1(bytes, targetStart, at));
  if (target === null) return "bad-start-line";
  head.target = target;
  const version = readVersion(bytes, at + 1);
  if (typeof version === "string") return version;
  head.minorVersion = version;
  head.keepAlive = version === 1;
  at += 11;
  const reader = new RequestFields(bytes, at, head);
  const why = visitFields(bytes, at, end, limits.headerCount, reader.visit);
  return why ?? reader.finish(end);
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

/** Reads header lines into a head and gathers those that are handed on. */
class RequestFields {
  readonly #bytes: Buffer;
  readonly #head: RequestHead;
  readonly #passed: PassedHeaders;
  #hosts = 0;
  #isBadHost = false;
  #lengths = 0;
  #contentLength = -1;
  #codings = 0;
  #codingIsChunked = false;
  #closes = false;

  constructor(bytes: Buffer, start: number, head: RequestHead) {
    this.#bytes = bytes;
    this.#head = head;
    this.#passed = new PassedHeaders(bytes, start);
  }

  readonly visit: FieldVisitor = (nameStart, nameEnd, from, to, lineEnd) => {
    const isOurs =
      nameEnd - nameStart < 13
        ? this.#readShort(nameStart, nameEnd, from, to)
        : this.#readLong(nameStart, nameEnd, from, to);
    if (isOurs) this.#passed.leaveOut(nameStart, lineEnd);
    return this.#isBadHost ? "bad-host" : null;
  };

  /** Reads a header with a name of up to 12 bytes; true where the line is not handed on as it is. */
  #readShort(nameStart: number, nameEnd: number, from: number, to: number): boolean {
    const bytes = this.#bytes;
    const head = this.#head;
    const is = (lower: string) => equalsLower(bytes, nameStart, nameEnd, lower);
    switch (nameEnd - nameStart) {
      case 2:
        return is("te");
      case 4:
        if (!is("host")) return false;
        this.#hosts++;
        for (let at = from; at < to; at++) if (IS_HOST[bytes[at]!] !== 1) this.#isBadHost = true;
        head.host = latin1(bytes, from, to);
        return true;
      case 6:
        if (!is("expect")) return false;
        if (equalsLower(bytes, from, to, "100-continue")) head.expectContinue = true;
        else head.expectUnknown = true;
        return true;
      case 7:
        if (is("trailer")) return true;
        if (!is("upgrade")) return false;
        head.upgrade = latin1(bytes, from, to);
        return true;
      case 9:
        if (!is("x-api-key")) return false;
        head.apiKey = latin1(bytes, from, to);
        return true;
      case 10:
        if (is("keep-alive")) return true;
        if (!is("connection")) return false;
        this.#readConnection(from, to);
        return true;
      case 11:
        if (!is("traceparent")) return false;
        head.traceparent = latin1(bytes, from, to);
        return true;
      case 12:
        if (!is("x-request-id")) return false;
        head.requestId = latin1(bytes, from, to);
        return true;
      default:
        return false;
    }
  }

  /** The same for longer names. */
  #readLong(nameStart: number, nameEnd: number, from: number, to: number): boolean {
    const bytes = this.#bytes;
    const head = this.#head;
    const is = (lower: string) => equalsLower(bytes, nameStart, nameEnd, lower);
    switch (nameEnd - nameStart) {
      case 13:
        if (!is("authorization")) return false;
        head.authorization = latin1(bytes, from, to);
        return true;
      case 14:
        if (is("http2-settings")) return true;
        if (!is("content-length")) return false;
        this.#lengths++;
        this.#contentLength = parseDecimal(bytes, from, to);
        return true;
      case 15:
        if (is("idempotency-key")) head.idempotencyKey = latin1(bytes, from, to);
        if (!is("x-forwarded-for")) return false;
        head.forwardedFor = (head.forwardedFor === null ? "" : `${head.forwardedFor}, `) + latin1(bytes, from, to);
        return true;
      case 16:
        return is("proxy-connection") || is("x-forwarded-host");
      case 17:
        if (is("x-forwarded-proto")) return true;
        if (!is("transfer-encoding")) return false;
        this.#codings++;
        this.#codingIsChunked = equalsLower(bytes, from, to, "chunked");
        return true;
      case 19:
        if (is("x-penstock-endpoint")) head.endpoint = latin1(bytes, from, to);
        return is("proxy-authorization");
      default:
        return false;
    }
  }

  #readConnection(from: number, to: number): void {
    const bytes = this.#bytes;
    if (equalsLower(bytes, from, to, "keep-alive")) this.#head.keepAlive = true;
    else if (equalsLower(bytes, from, to, "close")) this.#closes = true;
    else {
      for (const option of latin1(bytes, from, to).toLowerCase().split(",")) {
        const name = option.trim();
        if (name === "close") this.#closes = true;
        else if (name === "keep-alive") this.#head.keepAlive = true;
        else if (name !== "" && !NEVER_NOMINATED.has(name)) this.#passed.nominate(name);
      }
    }
  }

  /** Checks what concerns all headers together. `end` is where the last line ended. */
  finish(end: number): Malformed | null {
    const head = this.#head;
    head.passedHeaders = this.#passed.finish(end);
    if (this.#closes) head.keepAlive = false;
    if (this.#hosts > 1) return "bad-host";
    if (this.#hosts === 0 && head.minorVersion === 1) return "missing-host";
    if (this.#lengths > 0 && this.#codings > 0) return "content-length-and-transfer-encoding";
    if (this.#lengths > 1 || (this.#lengths === 1 && this.#contentLength < 0)) return "bad-content-length";
    if (this.#codings > 0) {
      if (this.#codings > 1 || head.minorVersion === 0) return "bad-transfer-encoding";
      if (!this.#codingIsChunked) return "unknown-transfer-coding";
      head.framing = CHUNKED;
    } else if (this.#contentLength > 0) head.framing = { kind: "length", bytes: this.#contentLength };
    return null;
  }
}
