/** Lines that came `times` times in a row. */
export interface FoldedLines {
  readonly lines: readonly string[];
  readonly times: number;
  /** They reach the first line that is kept: there may have been more of them. */
  readonly mayBeMore: boolean;
}

/**
 * The lines with each block that repeats itself shown once, as it came last: a process that crashes at each start writes the
 * same again and again. Lines are the same when only numbers differ (times, ports, process ids). A block that was cut at
 * the front counts as one. Cost: O(n^3) at worst, for the few lines that are kept of a failure.
 */
export function foldRepeats(lines: readonly string[]): FoldedLines[] {
  const keys = lines.map((line) => line.replace(/\d+/g, "0"));
  const folded: FoldedLines[] = [];
  for (let end = lines.length; end > 0; ) {
    const { size, times, cut } = widestRepeat(keys, end);
    const start = end - size * times - cut;
    folded.unshift({ lines: lines.slice(end - size, end), times: times + (cut > 0 ? 1 : 0), mayBeMore: start === 0 });
    end = start;
  }
  return joinSingles(folded);
}

/** How often the block came, or nothing where it came once. */
export function timesText({ lines, times, mayBeMore }: FoldedLines): string {
  if (times === 1) return "";
  const often = `${mayBeMore ? "at least " : ""}${times} times`;
  return lines.length === 1 ? `(${often})` : `(these ${lines.length} lines, ${often})`;
}

interface Repeat {
  readonly size: number;
  /** Whole rounds. */
  readonly times: number;
  /** Lines before them that are the end of one more round. */
  readonly cut: number;
}

/** The block that ends at `end` and, with its repeats, covers the most lines. */
function widestRepeat(keys: readonly string[], end: number): Repeat {
  let widest = { size: 1, times: 1, cut: 0, covers: 1 };
  for (let size = 1; size <= end; size++) {
    const block = end - size;
    let times = 1;
    while (end - size * (times + 1) >= 0 && isSame(keys, end - size * (times + 1), block, size)) times++;
    const before = end - size * times;
    const cut = before < size && isSame(keys, 0, end - before, before) ? before : 0;
    const covers = times > 1 || cut > 0 ? size * times + cut : 1;
    if (covers > widest.covers) widest = { size, times, cut, covers };
  }
  return widest;
}

function isSame(keys: readonly string[], a: number, b: number, size: number): boolean {
  for (let index = 0; index < size; index++) if (keys[a + index] !== keys[b + index]) return false;
  return true;
}

function joinSingles(folded: readonly FoldedLines[]): FoldedLines[] {
  const joined: FoldedLines[] = [];
  for (const one of folded) {
    const last = joined.at(-1);
    if (last?.times === 1 && one.times === 1)
      joined[joined.length - 1] = { ...last, lines: [...last.lines, ...one.lines] };
    else joined.push(one);
  }
  return joined;
}
