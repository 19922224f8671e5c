const CELLS = 24;

/** A bar of fixed width with its percent: `[#######-----------------]  29 %`. */
export function bar(doneRatio: number): string {
  const ratio = Math.min(1, Math.max(0, doneRatio));
  const full = Math.round(ratio * CELLS);
  return `[${"#".repeat(full)}${"-".repeat(CELLS - full)}] ${String(Math.floor(ratio * 100)).padStart(3)} %`;
}
