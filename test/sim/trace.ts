import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { RateRps } from "../../runtime/simulator/arrivals.ts";

/** Recorded traffic: requests in each second. */
export interface Trace {
  readonly countBySecond: readonly number[];
  /** The same traffic `times` as heavy, at its own pace. */
  rate(times: number): RateRps;
}

/**
 * Reads a trace, gzipped or not: either `second,requests` rows, or one row a request that begins with its time (UTC).
 * Requires: rows in the order of their times. Errors: those of the file, or a message naming the first line that is neither.
 */
export function readTrace(path: string): Trace {
  const bytes = readFileSync(path);
  const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  const [header = "", ...lines] = text.trimEnd().split(/\r?\n/);
  const isCounted = header.startsWith("second,");
  const rows = lines.map((line, index) => {
    const [first = "", second = ""] = line.split(",");
    const atSecond = isCounted ? Number(first) : Date.parse(`${first.slice(0, 23).replace(" ", "T")}Z`) / 1_000;
    if (!Number.isFinite(atSecond)) throw new Error(`${path}: line ${index + 2} does not begin with a time: ${line}`);
    return { atSecond, requests: isCounted ? Number(second) : 1 };
  });
  const startSecond = isCounted ? 0 : (rows[0]?.atSecond ?? 0);
  const countBySecond: number[] = [];
  for (const { atSecond, requests } of rows) {
    const second = Math.floor(atSecond - startSecond);
    while (countBySecond.length <= second) countBySecond.push(0);
    countBySecond[second]! += requests;
  }
  return {
    countBySecond,
    rate: (times) => (atMs) => (countBySecond[Math.floor(atMs / 1_000)] ?? 0) * times,
  };
}
