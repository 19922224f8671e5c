/** Points kept: 15 minutes of one a second; the region and a console keep the same. */
export const KEPT_POINTS = 900;

/**
 * What a chart shows of a version or an endpoint, each second. Units: per second, milliseconds, counts, cores.
 * `targetConcurrency` is of one replica and null for an endpoint; `capacity` is that of all ready replicas together.
 */
export const SERIES_COLUMNS = [
  "qps",
  "failedRps",
  "turnedAwayRps",
  "p50Ms",
  "p99Ms",
  "inFlight",
  "queued",
  "targetConcurrency",
  "capacity",
  "wantedReplicas",
  "readyReplicas",
  "coldStarts",
  "cpuCores",
] as const;

/** Name of a column of a series. */
export type SeriesColumn = (typeof SERIES_COLUMNS)[number];

/** One second of a series; null = not known then. */
export type SeriesPoint = Readonly<Record<SeriesColumn, number | null>>;

/** A ring of points held as columns of 32-bit floats: 52 bytes a point. */
export class ColumnRing {
  readonly #columns: Readonly<Record<SeriesColumn, Float32Array>>;

  constructor(points: number) {
    const empty = () => new Float32Array(points).fill(Number.NaN);
    this.#columns = Object.fromEntries(SERIES_COLUMNS.map((name) => [name, empty()])) as Record<
      SeriesColumn,
      Float32Array
    >;
  }

  /** Writes the point of a slot, or marks the slot as unknown. */
  set(slot: number, point: SeriesPoint | null): void {
    for (const name of SERIES_COLUMNS) this.#columns[name][slot] = point?.[name] ?? Number.NaN;
  }

  /** The values of the slots in the order given; null = not known then. Values are rounded to 4 significant digits. */
  read(slots: readonly number[]): Record<SeriesColumn, (number | null)[]> {
    const readColumn = (name: SeriesColumn) =>
      slots.map((slot) => {
        const value = this.#columns[name][slot] ?? Number.NaN;
        return Number.isNaN(value) ? null : Number(value.toPrecision(4));
      });
    return Object.fromEntries(SERIES_COLUMNS.map((name) => [name, readColumn(name)])) as Record<
      SeriesColumn,
      (number | null)[]
    >;
  }
}
