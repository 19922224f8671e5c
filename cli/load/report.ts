import { latencyText, numberText } from "../../runtime/core/format.ts";
import type { Style } from "../terminal/style.ts";
import { renderTable } from "../terminal/table.ts";
import type { LogHistogram } from "./log-histogram.ts";
import type { Tally } from "./tally.ts";

const QUANTILES = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999] as const;

/** Result of a run, for programs. Durations in milliseconds; latency counts from when a request was due. */
export interface LoadReport {
  readonly seconds: number;
  readonly sent: number;
  readonly good: number;
  readonly failed: number;
  readonly sentRps: number;
  readonly goodRps: number;
  readonly bytes: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly latencyMs: Quantiles;
  /** How late the generator itself was: it should stay a small part of the latency. */
  readonly sendLagMs: Quantiles;
  /** CPU time of the generator per request, in microseconds. */
  readonly generatorCpuUs: number;
  /** Streamed answers only. */
  readonly tokens: {
    readonly count: number;
    readonly perSecond: number;
    readonly firstMs: Quantiles;
    readonly betweenMs: Quantiles;
  } | null;
}

/** Quantiles of a distribution; null where nothing was counted. */
export type Quantiles = Readonly<
  Record<"mean" | "p50" | "p75" | "p90" | "p95" | "p99" | "p99.9" | "max", number | null>
>;

/** The report of a tally after `seconds`, in which the generator used `cpuUs` of CPU. */
export function loadReport(tally: Tally, seconds: number, cpuUs: number, streamed: boolean): LoadReport {
  const perSecond = (count: number): number => (seconds > 0 ? count / seconds : 0);
  return {
    seconds,
    sent: tally.sent,
    good: tally.good,
    failed: tally.failed,
    sentRps: perSecond(tally.sent),
    goodRps: perSecond(tally.good),
    bytes: tally.bytes,
    statuses: Object.fromEntries(tally.statuses),
    errors: Object.fromEntries(tally.errors),
    latencyMs: quantiles(tally.latency),
    sendLagMs: quantiles(tally.sendLag),
    generatorCpuUs: tally.sent === 0 ? 0 : cpuUs / tally.sent,
    tokens: streamed
      ? {
          count: tally.tokens,
          perSecond: perSecond(tally.tokens),
          firstMs: quantiles(tally.firstToken),
          betweenMs: quantiles(tally.betweenTokens),
        }
      : null,
  };
}

function quantiles(histogram: LogHistogram): Quantiles {
  const [p50, p75, p90, p95, p99, p999] = QUANTILES.map((q) => histogram.quantileMs(q));
  return {
    mean: histogram.meanMs,
    p50: p50 ?? null,
    p75: p75 ?? null,
    p90: p90 ?? null,
    p95: p95 ?? null,
    p99: p99 ?? null,
    "p99.9": p999 ?? null,
    max: histogram.maxMs,
  };
}

/** The report for people: totals, a table of quantiles, then every error by kind. */
export function reportLines(report: LoadReport, style: Style): string[] {
  const { sent, good, failed, seconds, sentRps, goodRps, tokens } = report;
  const failedText = failed === 0 ? style.good("0 failed") : style.bad(`${numberText(failed)} failed`);
  const rows: [string, Quantiles][] = [
    ["latency", report.latencyMs],
    ...(tokens === null
      ? []
      : ([
          ["first token", tokens.firstMs],
          ["between tokens", tokens.betweenMs],
        ] as [string, Quantiles][])),
    ["generator lag", report.sendLagMs],
  ];
  const keys = Object.keys(report.latencyMs) as (keyof Quantiles)[];
  const columns = [
    { head: "", cell: ([name]: [string, Quantiles]) => name },
    ...keys.map((key) => ({
      head: key,
      align: "right" as const,
      cell: ([, values]: [string, Quantiles]) => latencyText(values[key]),
    })),
  ];
  return [
    `${numberText(sent)} sent in ${seconds.toFixed(1)} s (${numberText(sentRps)}/s), ${numberText(good)} good (${numberText(goodRps)}/s), ${failedText}`,
    ...(tokens === null ? [] : [`${numberText(tokens.count)} tokens, ${numberText(tokens.perSecond)} tokens/s`]),
    "",
    ...renderTable(rows, columns, { width: null, headPaint: style.dim }),
    ...errorLines(report, style),
    "",
    style.dim(
      `Latency counts from when a request was due. The generator used ${report.generatorCpuUs.toFixed(1)} us of CPU per request.`,
    ),
  ];
}

function errorLines({ errors }: LoadReport, style: Style): string[] {
  const kinds = Object.entries(errors).toSorted(([, a], [, b]) => b - a);
  if (kinds.length === 0) return [];
  const columns = [
    { head: "COUNT", align: "right" as const, cell: ([, count]: [string, number]) => numberText(count) },
    { head: "ERROR", cell: ([kind]: [string, number]) => kind },
  ];
  return ["", ...renderTable(kinds, columns, { width: null, headPaint: style.dim })];
}

/** The line that lives while the run does: rates of the last second, quantiles so far. */
export function liveLine(
  now: Tally,
  before: { readonly sent: number; readonly good: number },
  elapsedMs: number,
  totalMs: number,
): string {
  const share = `${Math.round(elapsedMs / 1_000)}/${Math.round(totalMs / 1_000)} s`;
  const p = (q: number): string => latencyText(now.latency.quantileMs(q));
  return (
    `${share}  ${numberText(now.sent - before.sent)} sent/s  ${numberText(now.good - before.good)} good/s  ` +
    `${numberText(now.failed)} failed  ${now.inFlight} in flight on ${now.connections} connections  p50 ${p(0.5)}  p99 ${p(0.99)}`
  );
}
