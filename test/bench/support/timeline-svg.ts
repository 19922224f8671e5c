import type { Point } from "./timeline.ts";

const WIDTH = 900;
const PANEL = 170;
const GAP = 46;
const LEFT = 70;
const TOP = 72;

interface Curve {
  readonly label: string;
  readonly colour: string;
  /** A stepped line, for counts that jump. */
  readonly stepped?: true;
  readonly value: (point: Point) => number | null;
}

interface Panel {
  readonly title: string;
  readonly curves: readonly Curve[];
  readonly log?: true;
  /** A bound to draw across. */
  readonly mark?: number;
}

const PANELS: readonly Panel[] = [
  {
    title: "requests per second",
    curves: [
      { label: "sent", colour: "#888", value: (point) => point.sentRps },
      { label: "answered", colour: "#1f77b4", value: (point) => point.goodRps },
    ],
  },
  {
    title: "p99 of the interval, from when a request was due (ms, logarithmic)",
    log: true,
    mark: 100,
    curves: [{ label: "p99", colour: "#d62728", value: (point) => point.p99Ms }],
  },
  {
    title: "replicas",
    curves: [
      { label: "wanted", colour: "#ff7f0e", stepped: true, value: (point) => point.wanted },
      { label: "ready", colour: "#2ca02c", stepped: true, value: (point) => point.ready },
    ],
  },
];

/** Draws a run's points as an SVG of three panels on one time axis. `marks`: moments to point out, in ms. */
export function timelineSvg(
  title: string,
  points: readonly Point[],
  marks: readonly { readonly atMs: number; readonly label: string }[],
): string {
  const endMs = Math.max(1, ...points.map((point) => point.atMs));
  const x = (atMs: number): number => LEFT + (atMs / endMs) * (WIDTH - LEFT - 20);
  const height = TOP + PANELS.length * (PANEL + GAP);
  const panels = PANELS.map((panel, index) => drawPanel(panel, points, x, TOP + index * (PANEL + GAP)));
  const bottom = height - GAP;
  const lines = marks.map(
    ({ atMs, label }) =>
      `<line x1="${x(atMs)}" x2="${x(atMs)}" y1="${TOP - 22}" y2="${bottom}" stroke="#555" stroke-dasharray="4 3"/>` +
      `<text x="${x(atMs) + 4}" y="${TOP - 22}">${label}</text>`,
  );
  const everyS = 10 * Math.ceil(endMs / 120_000);
  const seconds = Array.from({ length: Math.floor(endMs / 1_000 / everyS) + 1 }, (_, index) => index * everyS);
  const axis = seconds.map((s) => `<text x="${x(s * 1_000)}" y="${bottom + 16}" text-anchor="middle">${s} s</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    `<text x="${LEFT}" y="22" font-size="15" font-weight="bold">${title}</text>`,
    ...panels,
    ...lines,
    ...axis,
    "</svg>",
    "",
  ].join("\n");
}

function drawPanel(panel: Panel, points: readonly Point[], x: (atMs: number) => number, top: number): string {
  const values = panel.curves.flatMap(({ value }) => points.map(value)).filter((value) => value !== null);
  const most = Math.max(panel.mark ?? 0, 1, ...values) * 1.05;
  const least = panel.log ? Math.min(1, ...values.filter((value) => value > 0)) : 0;
  const ratio = (value: number): number =>
    panel.log ? Math.log(Math.max(value, least) / least) / Math.log(most / least) : value / most;
  const y = (value: number): number => top + PANEL * (1 - ratio(value));
  const ticks = panel.log
    ? [1, 10, 100, 1_000, 10_000, 100_000].filter((tick) => tick >= least && tick <= most)
    : [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round((share * most) / 1.05));
  const grid = [...new Set(ticks)].map(
    (tick) =>
      `<line x1="${LEFT}" x2="${WIDTH - 20}" y1="${y(tick)}" y2="${y(tick)}" stroke="#ddd"/>` +
      `<text x="${LEFT - 6}" y="${y(tick) + 4}" text-anchor="end">${tick.toLocaleString("en")}</text>`,
  );
  const mark =
    panel.mark === undefined
      ? ""
      : `<line x1="${LEFT}" x2="${WIDTH - 20}" y1="${y(panel.mark)}" y2="${y(panel.mark)}" stroke="#d62728" stroke-dasharray="2 3"/>`;
  const curves = panel.curves.map((curve) => drawCurve(curve, points, x, y));
  const legend = panel.curves.map(
    ({ label, colour }, index) =>
      `<text x="${WIDTH - 20 - 80 * (panel.curves.length - 1 - index)}" y="${top - 6}" fill="${colour}" text-anchor="end">${label}</text>`,
  );
  return [`<text x="${LEFT}" y="${top - 6}">${panel.title}</text>`, ...grid, mark, ...curves, ...legend].join("\n");
}

function drawCurve(curve: Curve, points: readonly Point[], x: (ms: number) => number, y: (value: number) => number) {
  let path = "";
  for (const point of points) {
    const value = curve.value(point);
    if (value === null) continue;
    const at = `${x(point.atMs).toFixed(1)} ${y(value).toFixed(1)}`;
    if (path === "") path = `M${at}`;
    else path += curve.stepped ? `H${x(point.atMs).toFixed(1)}V${y(value).toFixed(1)}` : `L${at}`;
  }
  return `<path d="${path}" fill="none" stroke="${curve.colour}" stroke-width="1.6"/>`;
}
