import type { SpanSums } from "../../core/window/span-sums.ts";
import { addSpan, emptySpanSums, meanPerMs } from "../../core/window/span-sums.ts";
import type { Flow } from "./demand.ts";
import { FAST_WINDOW_MS, TIED_RATIO } from "./laws.ts";
import type { Supply } from "./supply.ts";

/**
 * The part of a queue that stands: new requests take the place of those served, as closed-loop clients do, so that
 * neither their rate nor any wait shows how many could be in flight; only counting them does. A backlog that is worked
 * off and a queue that grows are told by arrivals and service time and are left to Little's law.
 */
export interface StandingQueue {
  readonly inFlight: SpanSums;
  readonly queued: SpanSums;
  readonly completed: SpanSums;
  readonly turnedAway: SpanSums;
  /** Since when some replica serves and none is pending; null while that is not so. */
  readonly settledSinceMs: number | null;
  /** Requests that stand in the queue. */
  readonly standing: number;
}

const BUCKET_MS = 1_000;

/** A version of which nothing has been seen waiting. */
export function initStandingQueue(): StandingQueue {
  // Spare buckets, as the window's ends fall inside buckets and routers report at different moments.
  const empty = emptySpanSums(BUCKET_MS, FAST_WINDOW_MS / BUCKET_MS + 5);
  return { inFlight: empty, queued: empty, completed: empty, turnedAway: empty, settledSinceMs: null, standing: 0 };
}

/** Adds one flow of the version. */
export function addToQueue(queue: StandingQueue, flow: Flow): StandingQueue {
  const add = (sums: SpanSums, amount: number) => addSpan(sums, flow.endMs - flow.spanMs, flow.endMs, amount);
  return {
    ...queue,
    inFlight: add(queue.inFlight, flow.inFlightMs),
    queued: add(queue.queued, flow.queuedMs),
    completed: add(queue.completed, flow.completed),
    turnedAway: add(queue.turnedAway, flow.turnedAway),
  };
}

/**
 * Judges the queue of the fast window: what stands is its minimum (as CoDel tells a standing queue from a burst: Nichols
 * and Jacobson 2012), where replicas serve, none is pending, and each answer brings the next request. In any other
 * moment it may only become less, and at zero there is none: a wait for a start is not concurrency.
 */
export function judgeQueue(queue: StandingQueue, supply: Supply, frontierMs: number | null): StandingQueue {
  if (supply.ready <= 0) return { ...queue, settledSinceMs: null, standing: 0 };
  if (frontierMs === null) return queue;
  const settledSinceMs = supply.pending > 0 ? null : (queue.settledSinceMs ?? frontierMs);
  const seconds = queuedBySecond(queue, frontierMs);
  const least = Math.min(...seconds);
  const settled = settledSinceMs !== null && frontierMs - settledSinceMs >= FAST_WINDOW_MS;
  const standing = settled && isTied(queue, seconds, frontierMs) ? least : Math.min(queue.standing, least);
  return { ...queue, settledSinceMs, standing };
}

/** Requests in flight (mean of the fast window) with those that stand in the queue; 0 while nothing stands. */
export function standingDemand(queue: StandingQueue, frontierMs: number | null): number {
  if (queue.standing <= 0 || frontierMs === null) return 0;
  return (meanPerMs(queue.inFlight, frontierMs, FAST_WINDOW_MS) ?? 0) + queue.standing;
}

/** Mean queue in each second of the fast window, oldest first; 0 where nothing was observed. */
function queuedBySecond(queue: StandingQueue, frontierMs: number): readonly number[] {
  const lastSeconds = (count: number): number =>
    count === 0 ? 0 : (meanPerMs(queue.queued, frontierMs, count * BUCKET_MS) ?? 0) * count;
  const count = FAST_WINDOW_MS / BUCKET_MS;
  return Array.from({ length: count }, (_, index) => lastSeconds(count - index) - lastSeconds(count - index - 1));
}

/**
 * Whether requests come because others were answered. The queue then moves far less than the sqrt(2 n) by which n arrivals
 * and n answers that know nothing of each other would move it; one that grows or is worked off moves more. Where requests
 * are turned away, these show what is asked for.
 */
function isTied(queue: StandingQueue, seconds: readonly number[], frontierMs: number): boolean {
  const count = (sums: SpanSums) => (meanPerMs(sums, frontierMs, FAST_WINDOW_MS) ?? 0) * FAST_WINDOW_MS;
  const byChance = Math.sqrt(2 * count(queue.completed));
  const moved = Math.max(...seconds) - Math.min(...seconds);
  return count(queue.turnedAway) === 0 && byChance > 0 && moved <= TIED_RATIO * byChance;
}
