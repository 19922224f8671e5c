import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { SeriesSlice } from "../../../series/series.ts";
import type { Theme } from "../shell/theme.ts";
import { axisTop, type ChartLine, type ChartSpec, lonePoints, timeSpan, withoutRestingZeros } from "./chart-spec.ts";

const HEIGHT_PX = 124;
/** Steps of the time axis, in seconds: whole minutes, since its labels are hours and minutes. */
const MINUTES = [60, 120, 300];
/** Charts of one page show the same moment under the pointer. */
const SYNC_KEY = "endpoint";

/** One live chart of the last 15 minutes; its legend shows the moment under the pointer, else the newest values. */
export function Chart({
  spec,
  slice,
  theme,
}: {
  readonly spec: ChartSpec;
  readonly slice: SeriesSlice | null;
  readonly theme: Theme;
}) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(slice);
  latest.current = slice;
  const [hovered, setHovered] = useState<number | null>(null);
  // A canvas keeps the colours it was made with, so another theme makes another plot.
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const made = new uPlot(optionsOf(spec, element, setHovered), dataOf(spec, latest.current), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current = null;
      made.destroy();
    };
  }, [spec, theme]);
  useEffect(() => plot.current?.setData(dataOf(spec, slice)), [spec, slice]);

  const index = hovered ?? (slice === null ? 0 : slice.atMs.length - 1);
  const values = spec.lines.map(({ column }) => spec.text(slice?.columns[column][index] ?? null));
  const isEmpty = spec.lines.every(({ column }) => slice?.columns[column].every((value) => value === null) ?? true);
  const summary = spec.lines.map(({ label }, at) => `${label} ${values[at]}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{spec.title}</span> <span class="faint">{spec.unit}</span>
        <span class="legend">
          {spec.lines.map(({ label, tone }, at) => (
            <span key={label} class={`tone-${tone}`}>
              <span class="swatch" aria-hidden="true" />
              {label} <b>{values[at]}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div class="plot-box">
        <div
          ref={host}
          class="plot"
          role="img"
          aria-label={`${spec.title}: ${summary}`}
          style={{ height: `${HEIGHT_PX}px` }}
        />
        {isEmpty && <span class="plot-empty faint">{spec.whenEmpty}</span>}
      </div>
    </figure>
  );
}

function dataOf(spec: ChartSpec, slice: SeriesSlice | null): uPlot.AlignedData {
  const seconds = (slice?.atMs ?? []).map((atMs) => atMs / 1_000);
  const valuesOf = ({ column, rare = false }: ChartLine): (number | null)[] => {
    const values = slice?.columns[column] ?? [];
    return rare ? withoutRestingZeros(values) : [...values];
  };
  return [seconds, ...spec.lines.map(valuesOf)];
}

function optionsOf(spec: ChartSpec, element: HTMLElement, onHover: (index: number | null) => void): uPlot.Options {
  const colour = (name: string): string => resolvedColour(element, name);
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const axis = {
    stroke: colour("--faint"),
    font,
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    padding: [8, 16, 0, 0],
    cursor: { sync: { key: SYNC_KEY }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
    scales: {
      x: { range: (_, oldest, newest) => timeSpan(oldest, newest) },
      y: { range: (_, __, highest) => [0, axisTop(spec, highest)] },
    },
    axes: [
      { ...axis, size: 20, space: 70, incrs: MINUTES, values: (_, splits) => splits.map(minuteText) },
      { ...axis, size: 46, space: 28, values: (_, splits) => splits.map((value) => spec.text(value)) },
    ],
    series: [{}, ...spec.lines.map((line) => seriesOf(line, colour))],
  };
}

/** The colour behind a custom property of the style sheet, as a canvas takes it. */
function resolvedColour(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = "";
  return color;
}

function seriesOf({ label, tone, stepped = false }: ChartLine, colour: (name: string) => string): uPlot.Series {
  const stroke = colour(`--line-${tone}`);
  const paths = stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    label,
    stroke,
    width: 1.5,
    points: { show: true, size: 4, fill: stroke, filter: (plot, line) => lonePoints([...(plot.data[line] ?? [])]) },
    ...(tone === "bound" ? { dash: [5, 4] } : {}),
    ...(tone === "main" ? { fill: colour("--line-fill") } : {}),
    ...(paths === undefined ? {} : { paths }),
  };
}

function minuteText(seconds: number): string {
  const date = new Date(seconds * 1_000);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}
