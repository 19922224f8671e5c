import { numberText } from "../../../../core/format.ts";

/** A count against its bound as text with a thin bar under it: full at the bound, marked when over. */
export function Meter({
  value,
  bound,
  label,
}: {
  readonly value: number;
  readonly bound: number | null;
  readonly label: string;
}) {
  const ratio = bound === null || bound <= 0 ? (value > 0 ? 1 : 0) : value / bound;
  return (
    <span class="meter" title={`${label}: ${numberText(value)} of ${numberText(bound)}`}>
      <span>
        {numberText(value)}
        <span class="faint"> / {numberText(bound)}</span>
      </span>
      <svg class={ratio > 1 ? "over" : ""} viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="3" />
        <rect class="fill" width={Math.min(100, ratio * 100).toFixed(1)} height="3" />
      </svg>
    </span>
  );
}
