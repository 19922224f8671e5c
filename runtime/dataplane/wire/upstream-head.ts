import type { RequestHead } from "./http1/request-head.ts";

/** What the router adds to a request on its way to a replica. */
export interface UpstreamHead {
  readonly request: RequestHead;
  readonly path: string;
  readonly remoteAddress: string;
  readonly requestId: string;
  /** The replica's own host and port. */
  readonly host: string;
  readonly traceparent: string | null;
  /** Content-Length, `null` for a chunked body, or -1 for no body. */
  readonly contentLength: number | null;
  /** The client's credentials go on, where the router asks for none of its own. */
  readonly passCredentials: boolean;
}

/** Head of the request as the replica gets it. */
export function upstreamHead(parts: UpstreamHead): string {
  const { request, contentLength } = parts;
  const forwarded =
    request.forwardedFor === null ? parts.remoteAddress : `${request.forwardedFor}, ${parts.remoteAddress}`;
  let head =
    `${request.method} ${parts.path} HTTP/1.1\r\nhost: ${parts.host}\r\n${request.passedHeaders}` +
    `x-forwarded-for: ${forwarded}\r\nx-forwarded-proto: http\r\nx-request-id: ${parts.requestId}\r\n`;
  if (request.host !== "") head += `x-forwarded-host: ${request.host}\r\n`;
  if (parts.traceparent !== null) head += `traceparent: ${parts.traceparent}\r\n`;
  if (parts.passCredentials) {
    if (request.authorization !== null) head += `authorization: ${request.authorization}\r\n`;
    if (request.apiKey !== null) head += `x-api-key: ${request.apiKey}\r\n`;
  }
  if (contentLength === null) head += "transfer-encoding: chunked\r\n";
  else if (contentLength >= 0) head += `content-length: ${contentLength}\r\n`;
  return `${head}\r\n`;
}

/** One chunk of a chunked body. */
export function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, "latin1"), bytes, CRLF]);
}

const CRLF = Buffer.from("\r\n", "latin1");
/** End of a chunked body. */
export const LAST_CHUNK = "0\r\n\r\n";
