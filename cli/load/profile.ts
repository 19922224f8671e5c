import { usageError } from "../exit.ts";

/** A stretch of time in which the rate goes evenly from one value to another. Rates in requests per second. */
export interface Segment {
  readonly fromRps: number;
  readonly toRps: number;
  readonly durationMs: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** A day at 1,000,000 requests a second is beyond any run; more is a typing error. */
const MAX_RPS = 1_000_000;

/** Milliseconds of `500ms`, `30s`, `5m`, `1h`. Errors: usage. */
export function parseDurationMs(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const durationMs = Number(number) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  if (durationMs > 0) return durationMs;
  throw usageError(`${text} is not a duration`, "Examples: 500ms, 30s, 5m, 1h");
}

/**
 * The segments of a profile: steps `RATE:TIME` and ramps `FROM-TO:TIME`, joined by commas.
 * `10:30s,10000:60s` holds 10/s for 30 s, then steps to 10,000/s for a minute; `10-1000:20s` ramps. Errors: usage.
 */
export function parseProfile(text: string): Segment[] {
  return text.split(",").map((part) => {
    const [, from, to, time] = /^(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?:(.+)$/.exec(part.trim()) ?? [];
    if (from === undefined || time === undefined) {
      throw usageError(`${part} is not RATE:TIME or FROM-TO:TIME`, "Example: 10:30s,10-1000:20s,1000:60s");
    }
    const segment = { fromRps: Number(from), toRps: Number(to ?? from), durationMs: parseDurationMs(time) };
    if (Math.max(segment.fromRps, segment.toRps) <= MAX_RPS) return segment;
    throw usageError(`${part} asks for more than ${MAX_RPS} requests per second`, "Lower the rate.");
  });
}

/** Length of a profile in milliseconds. */
export function profileMs(profile: readonly Segment[]): number {
  return profile.reduce((sum, segment) => sum + segment.durationMs, 0);
}
