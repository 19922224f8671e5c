import { ewma } from "../../core/window/ewma.ts";
import { maxOf, pushMax } from "../../core/window/sliding-max.ts";
import type { SpanSums } from "../../core/window/span-sums.ts";
import { addSpan, meanPerMs } from "../../core/window/span-sums.ts";
import {
  DRAIN_MS,
  FAST_WINDOW_MS,
  ROUTER_GONE_MS,
  ROUTER_SILENT_MS,
  SERVICE_UNKNOWN_MS,
  UP_WINDOW_MS,
} from "./laws.ts";
import type { Memory, RouterMark } from "./memory.ts";
import { addToQueue, judgeQueue, standingDemand } from "./standing-queue.ts";
import type { Supply } from "./supply.ts";
import type { LoadRow, RouterRows, World } from "./world.ts";

/** What happened between two reports of a router to one version, over `spanMs` that ended at `endMs`. */
export interface Flow {
  readonly endMs: number;
  readonly spanMs: number;
  readonly arrivals: number;
  readonly completed: number;
  readonly turnedAway: number;
  readonly inFlightMs: number;
  readonly queuedMs: number;
  readonly serviceMs: number;
}

/** Demand of a version, in requests that want to be in flight at once. */
export interface Demand {
  /** `missing`: no router is heard. `partial`: one that should speak is silent. */
  readonly seen: "whole" | "partial" | "missing";
  readonly meanUp: number;
  readonly meanFast: number;
  /** The most of the down window, without backlog. */
  readonly peak: number;
  /** Waiting requests that count in full: their clients send the next when they are answered. */
  readonly standing: number;
  readonly inFlightNow: number;
  readonly queuedNow: number;
}

/** Memory after this world's new reports, and the flows of this version that they brought. */
export interface Ingested {
  readonly memory: Memory;
  readonly flows: readonly Flow[];
  readonly frontierMs: number | null;
}

/**
 * Takes what is new in the routers' cumulative counts: repeated and late reports add nothing, a lost one is repaired by
 * the next, and a router's new epoch starts from nothing.
 */
export function ingestLoad(world: World, memory: Memory, nowMs: number): Ingested {
  const { unloadedMs, target } = memory.learning;
  const carried = (world.replicas.ready * (target ?? 1)) / Math.max(1, world.routers.length);
  const marks: Record<string, RouterMark> = {};
  let { ownDemand, endpointDemand, arriving, arrivals, queuedAtMs, queue } = memory;
  const flows: Flow[] = [];
  for (const router of world.routers) {
    if (nowMs - router.receivedAtMs > ROUTER_GONE_MS) continue;
    const mark = memory.marks[router.router];
    if (mark !== undefined && mark.epoch === router.epoch && router.seq <= mark.seq) {
      marks[router.router] = mark;
      continue;
    }
    marks[router.router] = { ...pickMark(router), atMs: router.receivedAtMs };
    if (mark === undefined || mark.epoch !== router.epoch || router.routerMonoMs <= mark.routerMonoMs) continue;
    for (const row of router.rows) {
      const flow = flowBetween(mark, router, row);
      const { amount, byArrivals } = demandMs(flow, unloadedMs, carried);
      endpointDemand = add(endpointDemand, flow, amount);
      if (row.version !== world.version) continue;
      ownDemand = add(ownDemand, flow, amount);
      arriving = add(arriving, flow, byArrivals);
      if (flow.queuedMs > 0) queuedAtMs = nowMs;
      arrivals = add(arrivals, flow, flow.arrivals);
      queue = addToQueue(queue, flow);
      flows.push(flow);
    }
    if (router.rows.length === 0) endpointDemand = add(endpointDemand, emptyFlow(mark, router), 0);
    if (!router.rows.some((row) => row.version === world.version)) {
      ownDemand = add(ownDemand, emptyFlow(mark, router), 0);
      arriving = add(arriving, emptyFlow(mark, router), 0);
    }
  }
  const heard = Object.values(marks).filter((mark) => nowMs - mark.atMs <= ROUTER_SILENT_MS);
  const frontierMs = heard.length === 0 ? null : Math.min(...heard.map((mark) => mark.atMs));
  const ingested = { ...memory, marks, ownDemand, endpointDemand, arriving, arrivals, queuedAtMs, queue };
  return { memory: ingested, flows, frontierMs };
}

function pickMark(router: RouterRows): Omit<RouterMark, "atMs"> {
  return { epoch: router.epoch, seq: router.seq, routerMonoMs: router.routerMonoMs, rows: router.rows };
}

function emptyFlow(mark: RouterMark, router: RouterRows): Flow {
  return {
    endMs: router.receivedAtMs,
    spanMs: router.routerMonoMs - mark.routerMonoMs,
    arrivals: 0,
    completed: 0,
    turnedAway: 0,
    inFlightMs: 0,
    queuedMs: 0,
    serviceMs: 0,
  };
}

function flowBetween(mark: RouterMark, router: RouterRows, row: LoadRow): Flow {
  const before = mark.rows.find((old) => old.version === row.version);
  const grown = (now: number, then: number | undefined) => Math.max(0, now - (then ?? 0));
  return {
    ...emptyFlow(mark, router),
    arrivals: grown(row.arrivals, before?.arrivals),
    completed: grown(row.completed, before?.completed),
    turnedAway: grown(row.turnedAway, before?.turnedAway),
    inFlightMs: grown(row.inFlightMsTotal, before?.inFlightMsTotal),
    queuedMs: grown(row.queuedMsTotal, before?.queuedMsTotal),
    serviceMs: grown(row.serviceMsTotal, before?.serviceMsTotal),
  };
}

function add(sums: SpanSums, flow: Flow, amount: number): SpanSums {
  return addSpan(sums, flow.endMs - flow.spanMs, flow.endMs, amount);
}

/**
 * Demand of one flow in request-milliseconds: the mean concurrency it asks for, times its span. Service time is the
 * measured one; where more is in flight than `carried` (what the replicas should carry) the surplus only waits inside
 * them, so the time at target is that much shorter. `byArrivals` is what its arrivals will ask for, without what waits from
 * before (Little's law).
 */
function demandMs(flow: Flow, unloadedMs: number | null, carried: number): { amount: number; byArrivals: number } {
  const inFlight = flow.inFlightMs / flow.spanMs;
  const measuredMs = flow.completed > 0 ? flow.serviceMs / flow.completed : unloadedMs;
  const serviceMs = measuredMs === null ? null : measuredMs * Math.min(1, carried / Math.max(inFlight, 1e-9));
  const arrivalsPerMs = flow.arrivals / flow.spanMs;
  const concurrency = concurrencyAsked({
    inFlight,
    queued: flow.queuedMs / flow.spanMs,
    arrivalsPerMs,
    turnedAwayPerMs: flow.turnedAway / flow.spanMs,
    serviceMs,
  });
  const byArrivals = serviceMs === null ? concurrency : arrivalsPerMs * serviceMs;
  return { amount: concurrency * flow.spanMs, byArrivals: byArrivals * flow.spanMs };
}

/**
 * Requests that want to be in flight at once. In flight and queued count one each, but a long wait is not concurrency: what
 * waits never asks for more than serves the arrivals (Little's law) and drains the queue within DRAIN_MS; what stands in
 * the queue is counted beside this. What was turned away for capacity would have been in flight for its service time.
 */
export function concurrencyAsked(load: {
  readonly inFlight: number;
  readonly queued: number;
  readonly arrivalsPerMs: number;
  readonly turnedAwayPerMs: number;
  readonly serviceMs: number | null;
}): number {
  const { inFlight, queued, arrivalsPerMs, turnedAwayPerMs } = load;
  const serviceMs = load.serviceMs ?? SERVICE_UNKNOWN_MS;
  const servedPerMs = Math.max(0, arrivalsPerMs - turnedAwayPerMs);
  const drained = servedPerMs * serviceMs + (queued * serviceMs) / DRAIN_MS;
  return Math.max(inFlight, Math.min(inFlight + queued, drained)) + turnedAwayPerMs * serviceMs;
}

/**
 * The demand that this version is sized for. A version that is to get more traffic than it has (a staged one) is sized
 * for that share of the whole endpoint's demand.
 */
export function readDemand(
  world: World,
  ingested: Ingested,
  supply: Supply,
  nowMs: number,
): { readonly demand: Demand; readonly memory: Memory } {
  const { memory, frontierMs } = ingested;
  const present = world.routers.filter((router) => nowMs - router.receivedAtMs <= ROUTER_GONE_MS);
  const silent = present.filter((router) => nowMs - router.receivedAtMs > ROUTER_SILENT_MS).length;
  const share = (world.place?.sizedForWeight ?? 0) / 100;
  const leads = world.place !== null && world.place.sizedForWeight > world.place.weight;
  const mean = (windowMs: number) => {
    if (frontierMs === null) return 0;
    const own = meanPerMs(memory.ownDemand, frontierMs, windowMs) ?? 0;
    const whole = leads ? (meanPerMs(memory.endpointDemand, frontierMs, windowMs) ?? 0) : 0;
    return Math.max(own, whole * share);
  };
  const queue = judgeQueue(memory.queue, supply, frontierMs);
  const standing = standingDemand(queue, frontierMs);
  const own = world.routers.flatMap((router) => router.rows.filter((row) => row.version === world.version));
  const meanFast = mean(FAST_WINDOW_MS);
  const serviceMs = memory.learning.unloadedMs ?? 0;
  const drains = memory.queuedAtMs !== null && nowMs - memory.queuedAtMs <= FAST_WINDOW_MS + serviceMs;
  // A backlog is worked off once and does not come again; what comes is read over a service time at least.
  const spanMs = Math.min(UP_WINDOW_MS, Math.max(FAST_WINDOW_MS, serviceMs));
  const lasting = drains ? (meanPerMs(memory.arriving, frontierMs ?? nowMs, spanMs) ?? 0) : meanFast;
  const peak = Math.max(Math.min(meanFast, lasting), standing);
  const peaks = frontierMs === null ? memory.peaks : pushMax(memory.peaks, nowMs, peak);
  return {
    demand: {
      seen: present.length === silent ? "missing" : silent > 0 ? "partial" : "whole",
      meanUp: Math.max(mean(UP_WINDOW_MS), standing),
      meanFast: Math.max(meanFast, standing),
      standing: queue.standing,
      peak: maxOf(peaks) ?? 0,
      inFlightNow: own.reduce((sum, row) => sum + row.inFlight, 0),
      queuedNow: own.reduce((sum, row) => sum + row.queued, 0),
    },
    memory: { ...memory, queue, peaks },
  };
}

/** The unloaded service time after these flows: measured where little was in flight, else the warm-up's. */
export function unloadedService(
  previousMs: number | null,
  flows: readonly Flow[],
  perReplicaLimit: number,
): number | null {
  let serviceMs = previousMs;
  for (const flow of flows) {
    if (flow.completed < 5 || flow.inFlightMs / flow.spanMs > perReplicaLimit) continue;
    serviceMs = ewma(serviceMs, flow.serviceMs / flow.completed, flow.spanMs, 60_000);
  }
  return serviceMs;
}
