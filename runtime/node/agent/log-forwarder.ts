import type { Clock } from "../../ports/clock.ts";

/** Lines are sent together this long after the first of them. */
const FLUSH_AFTER_MS = 250;
/** Most lines of one source in one batch; of a flood the oldest are left out, and their number is told. */
const MAX_LINES = 500;

interface Batch {
  lines: string[];
  leftOut: number;
}

/** Gathers the lines that processes write and sends them in bounded batches. The files have them whole. */
export class LogForwarder {
  readonly #clock: Clock;
  readonly #send: (source: string, lines: readonly string[]) => void;
  #batches = new Map<string, Batch>();

  constructor(clock: Clock, send: (source: string, lines: readonly string[]) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  take(source: string, lines: readonly string[]): void {
    if (this.#batches.size === 0) this.#clock.after(FLUSH_AFTER_MS, () => this.#flush());
    const batch = this.#batches.get(source) ?? { lines: [], leftOut: 0 };
    this.#batches.set(source, batch);
    batch.lines.push(...lines);
    const over = batch.lines.length - MAX_LINES;
    if (over <= 0) return;
    batch.lines.splice(0, over);
    batch.leftOut += over;
  }

  #flush(): void {
    const batches = this.#batches;
    this.#batches = new Map();
    for (const [source, { lines, leftOut }] of batches) {
      const note = leftOut > 0 ? [`penstock: ${leftOut} lines left out here; the log file has them`] : [];
      this.#send(source, [...note, ...lines]);
    }
  }
}
