import type { WallMs } from "../../core/time.ts";

/** Lines kept over all sources: about 4 MiB of usual lines, an hour of a chatty region. */
const MAX_LINES = 20_000;
/** Longest line that is kept whole; the rest of it is cut. */
const MAX_LINE_CHARS = 4_096;

/** One line that a process of the region wrote. `source` is a replica's id, or the name of a router, agent or controller. */
export interface LogLine {
  readonly source: string;
  readonly atMs: WallMs;
  readonly line: string;
}

/** The newest log lines of all processes, bounded, with followers. */
export class LogBook {
  readonly #lines: LogLine[] = [];
  readonly #followers = new Set<(line: LogLine) => void>();
  readonly #maxLines: number;
  #next = 0;

  constructor(maxLines: number = MAX_LINES) {
    this.#maxLines = maxLines;
  }

  /** Takes the next lines of one source and tells the followers. */
  add(source: string, lines: readonly string[], atMs: WallMs): void {
    for (const text of lines) {
      const line = { source, atMs, line: text.slice(0, MAX_LINE_CHARS) };
      this.#lines[this.#next] = line;
      this.#next = (this.#next + 1) % this.#maxLines;
      for (const follower of this.#followers) follower(line);
    }
  }

  /** The last `count` lines of the sources that `wanted` accepts, oldest first. Cost: O(lines kept). */
  tail(wanted: (source: string) => boolean, count: number): LogLine[] {
    const found: LogLine[] = [];
    for (let back = 1; back <= this.#lines.length && found.length < count; back++) {
      const line = this.#lines[(this.#next - back + this.#maxLines) % this.#maxLines];
      if (line !== undefined && wanted(line.source)) found.push(line);
    }
    return found.reverse();
  }

  /** Calls back for each line to come; the returned function ends it. */
  follow(follower: (line: LogLine) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
