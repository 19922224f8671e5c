import type { LogLine } from "../../../logs/log-book.ts";

/** Lines held in the browser: a screen's history, not an archive (`penstock logs` has more). */
const MAX_LINES = 2_000;

/** A held line with the number it came as, which is its key on the screen. */
export interface HeldLine extends LogLine {
  readonly number: number;
}

/** Adds lines to those held and drops the oldest past the bound. */
export function addLines(held: readonly HeldLine[], lines: readonly LogLine[]): readonly HeldLine[] {
  const first = (held.at(-1)?.number ?? 0) + 1;
  return [...held, ...lines.map((line, index) => ({ ...line, number: first + index }))].slice(-MAX_LINES);
}

/** The lines that hold `text`, whatever its case. */
export function matchingLines(lines: readonly HeldLine[], text: string): readonly HeldLine[] {
  const wanted = text.toLowerCase();
  return wanted === "" ? lines : lines.filter(({ line }) => line.toLowerCase().includes(wanted));
}
