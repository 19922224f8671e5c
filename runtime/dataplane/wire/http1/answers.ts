/**
 * Reasons of the statuses that the router itself answers with (RFC 9110 15). Not Node's own table: importing node:http
 * loads an HTTP client besides, 8 MiB in each thread.
 */
const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  414: "URI Too Long",
  417: "Expectation Failed",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
};

/** An answer the router makes itself, whole. */
export interface LocalAnswer {
  readonly status: number;
  /** Each line ending in CRLF. */
  readonly headers: string;
  readonly body: string;
}

/** `status` with its standard reason, for a status line. */
function statusTextOf(status: number): string {
  return `${status} ${REASONS[status] ?? "Unknown"}`;
}

/** A JSON answer; `headers` are whole lines each ending in CRLF. */
export function jsonAnswer(status: number, value: unknown, headers = ""): LocalAnswer {
  return { status, headers: `content-type: application/json\r\n${headers}`, body: JSON.stringify(value) };
}

let dateLine = "";
let dateLineSecond = -1;

/** The Date header's line, made once a second. */
function dateHeader(): string {
  const nowMs = Date.now();
  const second = Math.floor(nowMs / 1_000);
  if (second !== dateLineSecond) {
    dateLineSecond = second;
    dateLine = `date: ${new Date(nowMs).toUTCString()}\r\n`;
  }
  return dateLine;
}

/** Bytes of a whole answer. To HEAD the body is left out but its length stated. */
export function serialiseAnswer(answer: LocalAnswer, isHead: boolean, keepAlive: boolean, isHttp10: boolean): Buffer {
  const body = Buffer.from(answer.body, "utf8");
  const connection = keepAlive ? (isHttp10 ? "connection: keep-alive\r\n" : "") : "connection: close\r\n";
  const head = `HTTP/1.1 ${statusTextOf(answer.status)}\r\n${dateHeader()}${answer.headers}content-length: ${body.length}\r\n${connection}\r\n`;
  return isHead ? Buffer.from(head, "latin1") : Buffer.concat([Buffer.from(head, "latin1"), body]);
}
