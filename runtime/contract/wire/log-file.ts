import { asWallMs, type WallMs } from "../../core/time.ts";

/** `2026-01-31T12:04:31.201Z ` */
const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) /;

/** Lines as they stand in a process's log file: each behind the time it was read at. */
export function encodeLogLines(lines: readonly string[], at: Date): string {
  const stamp = at.toISOString();
  return lines.map((line) => `${stamp} ${line}\n`).join("");
}

/** A line of such a file; `atMs` is null where it bears no time. */
export function decodeLogLine(text: string): { readonly atMs: WallMs | null; readonly line: string } {
  const [head, stamp] = STAMP.exec(text) ?? [];
  if (head === undefined || stamp === undefined) return { atMs: null, line: text };
  return { atMs: asWallMs(Date.parse(stamp)), line: text.slice(head.length) };
}
