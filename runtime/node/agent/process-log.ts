import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { encodeLogLines } from "../../contract/wire/log-file.ts";

/** Size at which a log file is moved to `<file>.1` (replacing the one before) and begun anew: 2 x 8 MiB a process at most. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Files of ended processes kept for a look back. */
const MAX_FILES = 1_000;
/** Lines kept in memory, for the reason of a failure (HostedReplica.lastLog). */
const LAST_LINES = 20;

/** The lines of one process, over all its starts: the last 20 in memory, the rest in a file of bounded size. */
export class ProcessLog {
  readonly #file: string;
  #last: readonly string[] = [];
  #fd: number | null = null;
  #bytes = 0;

  constructor(file: string) {
    this.#file = file;
  }

  get lastLines(): readonly string[] {
    return this.#last;
  }

  append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#last = [...this.#last, ...lines].slice(-LAST_LINES);
    try {
      this.#write(encodeLogLines(lines, new Date()));
    } catch {
      // A full disk costs the file's lines and nothing else: what serves goes on, and the last lines are in memory.
      this.close();
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #write(text: string): void {
    if (this.#fd !== null && this.#bytes > MAX_FILE_BYTES) {
      this.close();
      renameSync(this.#file, `${this.#file}.1`);
    }
    if (this.#fd === null) {
      mkdirSync(dirname(this.#file), { recursive: true });
      this.#fd = openSync(this.#file, "a", 0o600);
      this.#bytes = fstatSync(this.#fd).size;
    }
    this.#bytes += writeSync(this.#fd, text);
  }
}

/** Removes the oldest log files past the number that is kept. */
export function pruneLogs(dir: string): void {
  try {
    const files = readdirSync(dir).map((name) => ({ name, atMs: statSync(join(dir, name)).mtimeMs }));
    for (const { name } of files.toSorted((a, b) => b.atMs - a.atMs).slice(MAX_FILES)) rmSync(join(dir, name));
  } catch {
    // No folder yet, or a file that went meanwhile: there is nothing to prune then.
  }
}
