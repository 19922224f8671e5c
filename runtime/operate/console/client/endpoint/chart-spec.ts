import { latencyText, numberText } from "../../../../core/format.ts";
import type { SeriesColumn } from "../../../series/columns.ts";

/** One line of a chart. `tone` is a colour's name in the style sheet; a bound is drawn dashed and without filling. */
export interface ChartLine {
  readonly label: string;
  readonly column: SeriesColumn;
  readonly tone: "main" | "second" | "bound" | "bad";
  /** Counts change at an instant; rates and latencies between two of them. */
  readonly stepped?: boolean;
  /** Usually 0: drawn only where it is not, so that a bad line along the axis does not look like one. */
  readonly rare?: boolean;
}

/** A chart: what it shows and how its values read. */
export interface ChartSpec {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly ChartLine[];
  /** Said where nothing is known in the whole window. */
  readonly whenEmpty: string;
  /** Text of a value in the chart's legend. */
  readonly text: (value: number | null) => string;
  /** The y axis reaches at least this high, so that idle noise is not drawn as a mountain. */
  readonly leastTop: number;
}

/** The charts of an endpoint, in order. */
export const CHARTS: readonly ChartSpec[] = [
  {
    title: "Requests",
    whenEmpty: "no router has reported",
    unit: "per second",
    text: numberText,
    leastTop: 1,
    lines: [
      { label: "QPS", column: "qps", tone: "main" },
      { label: "turned away", column: "turnedAwayRps", tone: "second", rare: true },
      { label: "failed", column: "failedRps", tone: "bad", rare: true },
    ],
  },
  {
    title: "Latency",
    whenEmpty: "no request yet",
    unit: "at the router",
    text: latencyText,
    leastTop: 1,
    lines: [
      { label: "p50", column: "p50Ms", tone: "main" },
      { label: "p99", column: "p99Ms", tone: "second" },
    ],
  },
  {
    title: "In flight",
    whenEmpty: "no router has reported",
    unit: "against target",
    text: numberText,
    leastTop: 2,
    lines: [
      { label: "in flight", column: "inFlight", tone: "main" },
      { label: "target", column: "capacity", tone: "bound", stepped: true },
    ],
  },
  {
    title: "Replicas",
    whenEmpty: "nothing known yet",
    unit: "ready, desired",
    text: numberText,
    leastTop: 2,
    lines: [
      { label: "ready", column: "readyReplicas", tone: "main", stepped: true },
      { label: "desired", column: "wantedReplicas", tone: "bound", stepped: true },
    ],
  },
  {
    title: "Queue",
    whenEmpty: "no router has reported",
    unit: "requests waiting",
    text: numberText,
    leastTop: 2,
    lines: [{ label: "queued", column: "queued", tone: "second" }],
  },
  {
    title: "CPU",
    whenEmpty: "no replica has reported",
    unit: "cores, all replicas",
    text: (value) => (value === null ? "-" : value.toFixed(2)),
    leastTop: 0.5,
    lines: [{ label: "used", column: "cpuCores", tone: "main" }],
  },
  {
    title: "Cold starts",
    whenEmpty: "no router has reported",
    unit: "total",
    text: numberText,
    leastTop: 2,
    lines: [{ label: "cold starts", column: "coldStarts", tone: "main", stepped: true }],
  },
];

/** The values of a rare line: zeros stay only beside other values, where they show a rise or a fall. */
export function withoutRestingZeros(values: readonly (number | null)[]): (number | null)[] {
  return values.map((value, index) => (value === 0 && !values[index - 1] && !values[index + 1] ? null : value));
}

/** Where values stand with nothing on either side: no line is drawn there, so a point has to be. */
export function lonePoints(values: readonly (number | null | undefined)[]): number[] {
  const isKnown = (index: number): boolean => (values[index] ?? null) !== null;
  return values.flatMap((_, index) => (isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1) ? [index] : []));
}

/** The least of 1, 2, 2.5 or 5 times a power of ten that is not below `value`: an axis end that seldom moves. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5].find((candidate) => candidate * power >= value) ?? 10;
  return step * power;
}

/** The longest and the shortest time a chart spans, in seconds. */
const SPAN_S = { most: 900, least: 120 };

/** The ends of the x axis: all that is known, up to the last 15 minutes; a young region's few points are not a smear at the edge. */
export function timeSpan(oldestS: number, newestS: number): [number, number] {
  const span = Math.min(SPAN_S.most, Math.max(SPAN_S.least, newestS - oldestS));
  return [newestS - span, newestS];
}

/** Top of the y axis for the values shown. */
export function axisTop(spec: ChartSpec, highest: number | null): number {
  return niceCeiling(Math.max(spec.leastTop, (highest ?? 0) * 1.05));
}
