import { useState } from "preact/hooks";
import type { VersionView } from "../../../views/version-view.ts";
import type { Theme } from "../shell/theme.ts";
import { Chart } from "./chart.tsx";
import { CHARTS } from "./chart-spec.ts";
import { useSeries } from "./use-series.ts";

/** The live charts of an endpoint: all of it, or one of its versions. */
export function Charts({
  endpoint,
  versions,
  theme,
}: {
  readonly endpoint: string;
  readonly versions: readonly VersionView[];
  readonly theme: Theme;
}) {
  const series = useSeries(endpoint);
  const [chosen, setChosen] = useState(endpoint);
  const ids = versions.map(({ id }) => id).filter((id) => series.has(id));
  const shown = ids.includes(chosen) ? chosen : endpoint;
  return (
    <section aria-labelledby="charts-title">
      <div class="section-head">
        <h2 id="charts-title">Last 15 minutes</h2>
        {ids.length > 1 && (
          <select
            aria-label="Show the charts of"
            value={shown}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            <option value={endpoint}>all versions</option>
            {ids.map((id) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        )}
      </div>
      <div class="charts">
        {CHARTS.map((spec) => (
          <Chart key={spec.title} spec={spec} slice={series.get(shown) ?? null} theme={theme} />
        ))}
      </div>
    </section>
  );
}
