import type { LoadPlan } from "../../../cli/load/generator.ts";
import { LogHistogram } from "../../../cli/load/log-histogram.ts";
import type { Tally } from "../../../cli/load/tally.ts";
import { runLoad } from "../../../cli/load/threads.ts";
import { readServerSentEvents } from "../../../runtime/core/server-sent-events.ts";
import type { EndpointView } from "../../../runtime/operate/views/endpoint-view.ts";
import type { TestRegion } from "../../e2e/region.ts";

/** One look at a run under way; rates and quantile over the time since the look before. */
export interface Point {
  /** Since the run's start. */
  readonly atMs: number;
  readonly sentRps: number;
  readonly goodRps: number;
  readonly failed: number;
  /** Null where no answer came. */
  readonly p99Ms: number | null;
  readonly inFlight: number;
  /** As last told by the region; null before. */
  readonly ready: number | null;
  readonly wanted: number | null;
}

/** A finished run of load with its points. */
export interface Timeline {
  readonly tally: Tally;
  readonly points: readonly Point[];
}

/** Runs a plan on an endpoint and looks at both each `everyMs`. `onPoint` sees each look as it is taken. */
export async function runTimeline(
  region: TestRegion,
  endpoint: string,
  plan: LoadPlan,
  everyMs: number,
  onPoint: (point: Point) => void,
): Promise<Timeline> {
  const watching = new AbortController();
  const scale = await watchScale(region, endpoint, watching.signal);
  const run = runLoad(plan, 1);
  const startedAtMs = performance.now();
  const points: Point[] = [];
  let before = markOf(run.soFar(), startedAtMs);
  const look = (): void => {
    const tally = run.soFar();
    const now = markOf(tally, performance.now());
    const seconds = (now.atMs - before.atMs) / 1_000;
    const point: Point = {
      atMs: now.atMs - startedAtMs,
      sentRps: (now.sent - before.sent) / seconds,
      goodRps: (now.latency.count - before.latency.count) / seconds,
      failed: tally.failed,
      p99Ms: since(before.latency, now.latency).quantileMs(0.99),
      inFlight: tally.inFlight,
      ...scale(),
    };
    before = now;
    points.push(point);
    onPoint(point);
  };
  const timer = setInterval(look, everyMs);
  const tally = await run.finished;
  clearInterval(timer);
  look();
  watching.abort();
  return { tally, points };
}

type Scale = Pick<Point, "ready" | "wanted">;

/**
 * Follows an endpoint's replicas by the region's own events: one stream that was open before the load, so that a busy
 * router is asked nothing more. Resolves once the first event has come.
 */
async function watchScale(region: TestRegion, endpoint: string, signal: AbortSignal): Promise<() => Scale> {
  const response = await region.fetch(`/api/v1/events?endpoint=${endpoint}`, { signal });
  if (response.body === null) throw new Error("the region's events have no body");
  const events = readServerSentEvents(response.body);
  let latest: Scale = { ready: null, wanted: null };
  const take = async (): Promise<boolean> => {
    const next = await events.next();
    if (next.done === true) return false;
    const { ready, wanted } = (JSON.parse(next.value.data) as EndpointView).scale;
    latest = { ready, wanted };
    return true;
  };
  await take();
  const follow = async (): Promise<void> => {
    while (await take());
  };
  // The stream ends with the run, or with the controller: then the last state stays.
  void follow().catch(() => {});
  return () => latest;
}

interface Mark {
  readonly atMs: number;
  readonly sent: number;
  readonly latency: LogHistogram;
}

function markOf(tally: Tally, atMs: number): Mark {
  const latency = new LogHistogram();
  latency.add(tally.latency.counts());
  return { atMs, sent: tally.sent, latency };
}

/** What a growing histogram has gained. */
function since(before: LogHistogram, now: LogHistogram): LogHistogram {
  const old = before.counts().counts;
  const { counts, maxMs, sumMs } = now.counts();
  const gained = new LogHistogram();
  gained.add({ counts: counts.map((count, index) => count - (old[index] ?? 0)), maxMs, sumMs });
  return gained;
}
