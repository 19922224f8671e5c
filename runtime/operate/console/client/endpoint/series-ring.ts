import { KEPT_POINTS, SERIES_COLUMNS, type SeriesColumn } from "../../../series/columns.ts";
import type { SeriesSlice } from "../../../series/series.ts";

/** Series of an endpoint and its versions, by name. */
export type SeriesByName = ReadonlyMap<string, SeriesSlice>;

/** The answer of the series route. */
export interface SeriesAnswer {
  readonly endpoint: SeriesSlice | null;
  readonly versions: Readonly<Record<string, SeriesSlice>>;
}

/** Adds the newest pieces to what is held; a series that the answer lacks stays as it is. */
export function appendAnswer(held: SeriesByName, endpoint: string, answer: SeriesAnswer): SeriesByName {
  const pieces = Object.entries(answer.versions);
  if (answer.endpoint !== null) pieces.push([endpoint, answer.endpoint]);
  const next = new Map(held);
  for (const [name, piece] of pieces) next.set(name, appendSlice(held.get(name), piece));
  return next;
}

/** The newest time held, to ask for what came after; 0 when nothing is. */
export function newestMs(held: SeriesByName): number {
  return Math.max(0, ...[...held.values()].map(({ atMs }) => atMs.at(-1) ?? 0));
}

function appendSlice(held: SeriesSlice | undefined, piece: SeriesSlice): SeriesSlice {
  if (held === undefined) return piece;
  const newest = held.atMs.at(-1) ?? 0;
  const fresh = piece.atMs.flatMap((atMs, index) => (atMs > newest ? [index] : []));
  if (fresh.length === 0) return held;
  const join = <T>(old: readonly T[], added: readonly T[]): readonly T[] =>
    [...old, ...fresh.map((index) => added[index] as T)].slice(-KEPT_POINTS);
  const columns = SERIES_COLUMNS.map((name) => [name, join(held.columns[name], piece.columns[name])]);
  return {
    atMs: join(held.atMs, piece.atMs),
    columns: Object.fromEntries(columns) as Record<SeriesColumn, readonly (number | null)[]>,
  };
}
