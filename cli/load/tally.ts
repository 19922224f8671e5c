import { type HistogramCounts, LogHistogram } from "./log-histogram.ts";

/** What a thread has counted, as plain data for another thread. */
export interface TallyCounts {
  readonly sent: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly inFlight: number;
  readonly connections: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  readonly latency: HistogramCounts;
  readonly sendLag: HistogramCounts;
  readonly firstToken: HistogramCounts;
  readonly betweenTokens: HistogramCounts;
}

/** Counts of a run: every request ends in exactly one status or one error. */
export class Tally {
  sent = 0;
  bytes = 0;
  tokens = 0;
  inFlight = 0;
  connections = 0;
  readonly statuses = new Map<string, number>();
  readonly errors = new Map<string, number>();
  /** From the time a request was due to the end of its answer; good answers only. */
  readonly latency = new LogHistogram();
  /** From the time a request was due to its bytes being handed to the socket. */
  readonly sendLag = new LogHistogram();
  readonly firstToken = new LogHistogram();
  readonly betweenTokens = new LogHistogram();

  status(status: number): void {
    bump(this.statuses, String(status), 1);
    if (status >= 400) bump(this.errors, `http ${status}`, 1);
  }

  error(kind: string): void {
    bump(this.errors, kind, 1);
  }

  get failed(): number {
    return [...this.errors.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Answers below 400, each counted in `latency` once. */
  get good(): number {
    return this.latency.count;
  }

  counts(): TallyCounts {
    const { sent, bytes, tokens, inFlight, connections } = this;
    return {
      sent,
      bytes,
      tokens,
      inFlight,
      connections,
      statuses: Object.fromEntries(this.statuses),
      errors: Object.fromEntries(this.errors),
      latency: this.latency.counts(),
      sendLag: this.sendLag.counts(),
      firstToken: this.firstToken.counts(),
      betweenTokens: this.betweenTokens.counts(),
    };
  }

  add(counts: TallyCounts): void {
    this.sent += counts.sent;
    this.bytes += counts.bytes;
    this.tokens += counts.tokens;
    this.inFlight += counts.inFlight;
    this.connections += counts.connections;
    for (const [status, count] of Object.entries(counts.statuses)) bump(this.statuses, status, count);
    for (const [kind, count] of Object.entries(counts.errors)) bump(this.errors, kind, count);
    this.latency.add(counts.latency);
    this.sendLag.add(counts.sendLag);
    this.firstToken.add(counts.firstToken);
    this.betweenTokens.add(counts.betweenTokens);
  }
}

/** The counts of several threads as one. */
export function mergeTallies(parts: readonly TallyCounts[]): Tally {
  const whole = new Tally();
  for (const part of parts) whole.add(part);
  return whole;
}

function bump(map: Map<string, number>, key: string, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by);
}
