import type { SlidingMax } from "../../core/window/sliding-max.ts";
import { emptySlidingMax } from "../../core/window/sliding-max.ts";
import type { SpanSums } from "../../core/window/span-sums.ts";
import { emptySpanSums } from "../../core/window/span-sums.ts";
import { DOWN_WINDOW_MS, UP_WINDOW_MS } from "./laws.ts";
import type { KeptLearning, Learning } from "./learning.ts";
import { initLearning, keepLearning } from "./learning.ts";
import type { StandingQueue } from "./standing-queue.ts";
import { initStandingQueue } from "./standing-queue.ts";
import type { LoadRow } from "./world.ts";

/** What the autoscaler of one version remembers between decisions. Plain and never changed in place. */
export interface Memory {
  /** The last report taken of each router: cumulative counts become spans by difference to it. */
  readonly marks: Readonly<Record<string, RouterMark>>;
  /** Request-milliseconds of demand: of this version, and of its whole endpoint. */
  readonly ownDemand: SpanSums;
  readonly endpointDemand: SpanSums;
  /** What the arrivals of this version ask for, without backlog. */
  readonly arriving: SpanSums;
  /** When a request of this version last waited. */
  readonly queuedAtMs: number | null;
  readonly queue: StandingQueue;
  /** Arrivals of this version. */
  readonly arrivals: SpanSums;
  /** Means of the fast window without backlog: their maximum is what scale-down reads. */
  readonly peaks: SlidingMax;
  /** Since when the down window has been watched without a break; null before the first report. */
  readonly watchedSinceMs: number | null;
  readonly sizedForWeight: number | null;
  readonly lastActiveMs: number | null;
  readonly everReady: boolean;
  readonly wanted: number | null;
  /** What was wanted at the start of the current period; steps are capped from here, however often decide is called. */
  readonly anchor: { readonly replicas: number; readonly atMs: number } | null;
  /** Replicas that CPU use last asked for; 0 = it has not been read. */
  readonly cpuReplicas: number;
  readonly learning: Learning;
}

/** The newest report taken of one router. */
export interface RouterMark {
  readonly epoch: number;
  readonly seq: number;
  readonly routerMonoMs: number;
  readonly atMs: number;
  readonly rows: readonly LoadRow[];
}

/** What outlives the controller: the learned target and the scale, so that a restart changes neither. */
export interface Kept {
  readonly wanted: number | null;
  readonly learning: KeptLearning;
}

/** Memory of a version never decided before, or after a restart. */
export function initMemory(kept: Kept | null): Memory {
  // One spare bucket on each side: the window's ends fall inside buckets.
  const upBuckets = UP_WINDOW_MS / 1_000 + 5;
  return {
    marks: {},
    ownDemand: emptySpanSums(1_000, upBuckets),
    endpointDemand: emptySpanSums(1_000, upBuckets),
    arriving: emptySpanSums(1_000, upBuckets),
    arrivals: emptySpanSums(1_000, upBuckets),
    queuedAtMs: null,
    queue: initStandingQueue(),
    peaks: emptySlidingMax(DOWN_WINDOW_MS),
    watchedSinceMs: null,
    sizedForWeight: null,
    lastActiveMs: null,
    everReady: false,
    wanted: kept?.wanted ?? null,
    anchor: null,
    cpuReplicas: 0,
    learning: initLearning(kept?.learning ?? null),
  };
}

/** The part of a memory that is kept. */
export function keepMemory(memory: Memory): Kept {
  return { wanted: memory.wanted, learning: keepLearning(memory.learning) };
}
