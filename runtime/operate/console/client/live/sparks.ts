/** Points of a sparkline: two minutes of one a second. */
export const SPARK_POINTS = 120;

/** The newest QPS readings of each endpoint, oldest first; null = not known then. */
export type Sparks = ReadonlyMap<string, readonly (number | null)[]>;

/** Adds one reading of each endpoint and drops those of endpoints that are gone. */
export function addReadings(
  sparks: Sparks,
  endpoints: readonly { readonly name: string; readonly load: { readonly qps: number } }[],
): Sparks {
  return new Map(
    endpoints.map(({ name, load }) => [name, [...(sparks.get(name) ?? []), load.qps].slice(-SPARK_POINTS)]),
  );
}

/** Puts what the region had recorded before the readings taken here. */
export function seedReadings(sparks: Sparks, name: string, recorded: readonly (number | null)[]): Sparks {
  return new Map(sparks).set(name, [...recorded, ...(sparks.get(name) ?? [])].slice(-SPARK_POINTS));
}

/** Points of an SVG polyline through the readings, newest at the right edge; unknown ones count as 0. */
export function sparkPath(readings: readonly (number | null)[], width: number, height: number): string {
  const top = Math.max(1, ...readings.map((value) => value ?? 0));
  const step = width / (SPARK_POINTS - 1);
  const left = width - (readings.length - 1) * step;
  const pointOf = (value: number | null, index: number): string =>
    `${(left + index * step).toFixed(1)},${(height - ((value ?? 0) / top) * height).toFixed(1)}`;
  return readings.map(pointOf).join(" ");
}
