import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { decodeLogLine } from "../contract/wire/log-file.ts";
import { asWallMs } from "../core/time.ts";
import type { LogLine } from "../operate/logs/log-book.ts";

/** Files that are read, the newest: a region that crashes and scales all day makes hundreds; 64 full ones take 45 ms. */
const MAX_FILES = 64;
/** Read of each file, from its end: some 300 lines, so that all of them are as many as the log book holds. */
const MAX_TAIL_BYTES = 32 * 1024;
const LOG_FILE = /^(.+)\.log(?:\.1)?$/;

/** The newest lines of the log files that earlier lives of the region left in `dir`, oldest first. A file that can't be read is left out. */
export function readKeptLogs(dir: string): LogLine[] {
  const lines = newestFiles(dir).flatMap(({ source, path }) => {
    try {
      return readTail(source, path);
    } catch {
      // Pruned meanwhile, or not ours to read.
      return [];
    }
  });
  return lines.toSorted((a, b) => a.atMs - b.atMs);
}

function newestFiles(dir: string): { readonly source: string; readonly path: string }[] {
  try {
    return readdirSync(dir)
      .flatMap((name) => {
        const [, source] = LOG_FILE.exec(name) ?? [];
        const path = join(dir, name);
        return source === undefined ? [] : [{ source, path, changedAtMs: statSync(path).mtimeMs }];
      })
      .toSorted((a, b) => b.changedAtMs - a.changedAtMs)
      .slice(0, MAX_FILES);
  } catch {
    // The first life of a region has no folder yet.
    return [];
  }
}

function readTail(source: string, path: string): LogLine[] {
  const file = openSync(path, "r");
  try {
    const { size, mtimeMs } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, MAX_TAIL_BYTES));
    const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
    const texts = bytes.toString("utf8", 0, read).split("\n");
    // The first is cut where the file is longer, the last is empty or not written to its end.
    const whole = texts.slice(size > bytes.length ? 1 : 0, -1);
    let atMs = asWallMs(mtimeMs);
    return whole.map((text) => {
      const { atMs: stampMs, line } = decodeLogLine(text);
      atMs = stampMs ?? atMs;
      return { source, atMs, line };
    });
  } finally {
    closeSync(file);
  }
}
