import type { VersionView } from "../../../views/version-view.ts";

/** How traffic is split over versions, as one bar with a piece per version that has a share. */
export function SplitBar({ versions }: { readonly versions: readonly Pick<VersionView, "id" | "weight">[] }) {
  const parts = versions
    .map(({ id, weight }, index) => ({ id, weight, tone: index % 4 }))
    .filter(({ weight }) => weight > 0);
  if (parts.length === 0) return <div class="split empty-split">no traffic moves yet</div>;
  const text = parts.map(({ id, weight }) => `${id} ${weight} %`).join(", ");
  return (
    <div class="split" role="img" aria-label={`Traffic: ${text}`}>
      {parts.map(({ id, weight, tone }) => (
        <span key={id} class={`part-${tone}`} style={{ flexGrow: weight }} title={`${id}: ${weight} %`}>
          {weight >= 5 && `${weight >= 16 ? `${id} ` : ""}${weight} %`}
        </span>
      ))}
    </div>
  );
}
