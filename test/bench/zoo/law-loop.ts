import { autoscaler } from "../../../runtime/control/autoscaler/autoscaler.ts";
import { CYCLE_MS, ON_THE_WAY_MS } from "../../../runtime/control/autoscaler/laws.ts";
import type { World } from "../../../runtime/control/autoscaler/world.ts";
import { asMonoMs, asWallMs } from "../../../runtime/core/time.ts";
import { progress } from "../support/report.ts";
import { GOOD_ERROR } from "./best-fixed.ts";
import { type ClosedLoop, pause } from "./closed-loop.ts";
import type { Replica } from "./replica.ts";

/** Routers report once in this much of the law's time, and the version is decided again at each report. */
const REPORT_MS = 1_000;
/** Settled: over this many cycles the target stays within this share of their middle, as the bench's error allows. */
const SETTLED_CYCLES = 5;
const VERSION = "zoo-0000000000";

/** One cycle of the law: the target it came to, and why. */
export interface Cycle {
  readonly target: number;
  readonly reason: string;
}

/** What the law learned. */
export interface Learned {
  readonly target: number;
  /** Cycles until the target was, and from then on stayed, within 15 % of where it settled. */
  readonly cycles: number;
  /** It did settle in the time that it had. */
  readonly settled: boolean;
  readonly history: readonly Cycle[];
}

/**
 * Lets the very autoscaler decide on a real replica under saturating load (it always gets as many requests as its target
 * says), until the target settles. A cycle of 30 s is fed by `sliceMs` of real time: every duration that the law sees is
 * stretched by the same factor, so that it sees a model that many times slower, with that many fewer requests a cycle.
 */
export async function learnLive(
  replica: Replica,
  loop: ClosedLoop,
  sliceMs: number,
  mostCycles: number,
): Promise<Learned> {
  const stretch = CYCLE_MS / sliceMs;
  const startedMs = performance.now();
  const lawMs = (realMs: number): number => (realMs - startedMs) * stretch;
  let memory = autoscaler.init(null);
  let cycleAtMs: number | null = null;
  const history: Cycle[] = [];
  for (let seq = 1; history.length < mostCycles && !isSettled(history); seq++) {
    const nowMs = lawMs(performance.now());
    const now = { mono: asMonoMs(nowMs), wall: asWallMs(nowMs) };
    const verdict = autoscaler.decide(worldOf(replica, loop, seq, nowMs, stretch, lawMs), memory, now);
    memory = verdict.memory;
    const target = verdict.output?.targetConcurrency ?? 1;
    if (cycleAtMs !== null && memory.learning.cycleAtMs !== cycleAtMs) {
      history.push({ target, reason: memory.learning.reason });
      progress(`  cycle ${history.length}: ${target} in flight, ${memory.learning.reason}`);
    }
    cycleAtMs = memory.learning.cycleAtMs;
    loop.hold(target);
    await pause(REPORT_MS / stretch);
  }
  const target = middle(history.slice(-SETTLED_CYCLES).map((cycle) => cycle.target));
  const lastAway = history.findLastIndex((cycle) => !isNear(cycle.target, target));
  return { target, cycles: lastAway + 2, settled: isSettled(history), history };
}

/** A cycle in which the law judged nothing settles nothing. */
function isSettled(history: readonly Cycle[]): boolean {
  const judged = history.filter(({ reason }) => !reason.startsWith("learn:"));
  const last = judged.slice(-SETTLED_CYCLES).map(({ target }) => target);
  return last.length === SETTLED_CYCLES && last.every((target) => isNear(target, middle(last)));
}

function isNear(target: number, at: number): boolean {
  return Math.abs(target - at) <= at * GOOD_ERROR;
}

function middle(targets: readonly number[]): number {
  const sorted = targets.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 1;
}

/** What the autoscaler sees: one serving version, one ready replica, one router's counts, the keeper's last report. */
function worldOf(
  replica: Replica,
  loop: ClosedLoop,
  seq: number,
  nowMs: number,
  stretch: number,
  lawMs: (realMs: number) => number,
): World {
  const { said, atMs } = replica.report();
  const { resources } = said;
  const row = {
    version: VERSION,
    arrivals: loop.completed + loop.inFlight,
    completed: loop.completed,
    turnedAway: 0,
    inFlight: loop.inFlight,
    queued: 0,
    inFlightMsTotal: loop.inFlightMsTotal * stretch,
    queuedMsTotal: 0,
    serviceMsTotal: loop.serviceMsTotal * stretch,
  };
  return {
    version: VERSION,
    endpoint: "zoo",
    place: { phase: "serving", weight: 100, sizedForWeight: 100 },
    concurrency: { min: 1, max: 1_000_000 },
    sleepAfterMs: null,
    maxInFlight: null,
    routers: [{ router: "router-0", epoch: 1, seq, routerMonoMs: nowMs, receivedAtMs: nowMs, rows: [row] }],
    replicas: {
      asked: 1,
      ready: 1,
      startingSinceMs: [],
      broken: 0,
      heardAtMs: [nowMs],
      startupMs: said.startupMs,
      probedConcurrency: said.probedConcurrency,
      warmupServiceMs: said.warmupServiceMs === null ? null : said.warmupServiceMs * stretch,
      meters: [
        {
          replica: said.id,
          epoch: said.epoch,
          atMs: lawMs(atMs),
          cpuMsTotal: resources.cpuMsTotal * stretch,
          throttledMsTotal: resources.throttledMsTotal === null ? null : resources.throttledMsTotal * stretch,
          cpuCount: 1,
          memoryRatio: null,
          kvUseRatio: said.engine.kv_use_ratio ?? null,
          sequencesWaiting: said.engine.sequences_waiting ?? null,
        },
      ],
    },
    hostKnown: true,
    onTheWayMs: ON_THE_WAY_MS * stretch,
    predecessorTarget: null,
  };
}
