import { STATUS_CODES } from "node:http";

/** An answer the router makes itself, whole. */
export interface LocalAnswer {
  readonly status: number;
  /** Each line ending in CRLF. */
  readonly headers: string;
  readonly body: string;
}

/** `status` with its standard reason, for a status line. */
function statusTextOf(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? "Unknown"}`;
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
