import { mkdirSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { progress, report, step } from "./support/report.ts";
import {
  bestTarget,
  errorOf,
  GOOD_ERROR,
  type Level,
  levelsBeside,
  type Measured,
  nextLevel,
  powerOf,
} from "./zoo/best-fixed.ts";
import { ClosedLoop, pause, type Seen } from "./zoo/closed-loop.ts";
import { Gradient2 } from "./zoo/gradient2.ts";
import { type Learned, learnLive } from "./zoo/law-loop.ts";
import { makeZoo } from "./zoo/make-zoo.ts";
import { listZoo, type ZooModel } from "./zoo/models.ts";
import { type Replica, startReplica } from "./zoo/replica.ts";

/**
 * bench:learn: learned target concurrency of real models, each a real replica process with no settings, against the best
 * fixed target of a sweep (zoo/best-fixed.ts); beside a fixed target of 100 x 0.7 (Knative's default) and a Gradient2
 * limiter. At the end all four are measured in turns, so that a neighbour's burst hits each. A row is printed as soon as
 * its model is done; Ctrl-C ends with the figures of those that are.
 * Figures: `worstErrorRatio`, the largest loss of throughput or gain in p99 against the best fixed target, as a share;
 * `cyclesToConverge`, most cycles until a target was, and from then on stayed, within 15 % of where it settled.
 * Usage: node test/bench/learn.ts [MODEL ...]
 */

/** Spans hold this many requests, within bounds of time; a law's cycle holds a quarter more than a verdict needs. */
const SWEEP = { requests: 50, leastMs: 300, mostMs: 1_000 };
const ROUND = { requests: 200, leastMs: 700, mostMs: 1_500 };
const CYCLE = { requests: 150, leastMs: 900, mostMs: 4_000 };
/** A cycle's requests come at the rate of the law's first targets. */
const EARLY_TARGET = 8;
/** A level with less of the best power than this is looked at once: no neighbour's burst made it that bad. */
const HOPELESS_SHARE = 0.3;
/** The law has this long, in real time, to settle. */
const LEARN_MS = 60_000;
const MOST_CYCLES = 40;
const ROUNDS = 3;
const GRADIENT2 = { requests: 600, leastMs: 2_000, mostMs: 6_000 };
const FIXED = 70;

interface Result {
  readonly name: string;
  readonly best: Measured;
  readonly law: Measured;
  readonly fixed: Measured;
  readonly gradient2: Measured;
  readonly learned: Learned;
}

interface Span {
  readonly requests: number;
  readonly leastMs: number;
  readonly mostMs: number;
}

function spanMs({ requests, leastMs, mostMs }: Span, perSecond: number): number {
  return Math.min(mostMs, Math.max(leastMs, (requests / perSecond) * 1_000));
}

/** Sweeps upward until power is past its best, then downward, so that a neighbour's burst hits no level twice; then beside the best. */
async function sweep(loop: ClosedLoop): Promise<readonly Level[]> {
  const seen = new Map<number, number>();
  const levels = () =>
    [...seen].map(([target, perSecond]) => ({ target, perSecond })).sort((a, b) => a.target - b.target);
  const look = async (target: number) => {
    const known = levels().findLast((level) => level.target <= target);
    const ms = spanMs(SWEEP, known?.perSecond ?? SWEEP.requests);
    const { perSecond, inFlight } = await loop.measure(target, settleMs(ms, target, known), ms);
    progress(`  sweep: ${target} in flight, ${perSecond.toFixed(0)}/s`);
    // The better of two looks: a neighbour on the machine only ever takes some away. A level refused in part did nothing.
    const served = inFlight < target * 0.8 ? 0 : perSecond;
    seen.set(target, Math.max(seen.get(target) ?? 0, served, 1e-3));
  };
  for (let target = nextLevel(levels()); target !== null; target = nextLevel(levels())) await look(target);
  const best = Math.max(...levels().map(powerOf));
  const hopeful = levels().filter((level) => powerOf(level) >= HOPELESS_SHARE * best);
  for (const { target } of hopeful.toReversed()) await look(target);
  for (const target of levelsBeside(levels())) {
    await look(target);
    await look(target);
  }
  return levels();
}

/** A third of the span, and at least a service time. */
function settleMs(ms: number, target: number, known: Level | undefined): number {
  const serviceMs = known === undefined ? 0 : (target / known.perSecond) * 1_000;
  return Math.min(SWEEP.mostMs, Math.max(ms / 3, serviceMs));
}

async function runGradient2(loop: ClosedLoop, perSecond: number): Promise<number> {
  const limiter = new Gradient2();
  loop.hold(limiter.limit);
  loop.onSample = (serviceMs, inFlight) => {
    limiter.sample(serviceMs, inFlight);
    loop.hold(limiter.limit);
  };
  // Its long average spans 600 requests.
  await pause(spanMs(GRADIENT2, perSecond));
  loop.onSample = null;
  return limiter.limit;
}

/** Measures the targets in turns and takes each one's medians. */
async function compare(loop: ClosedLoop, targets: readonly number[], at: Level): Promise<readonly Measured[]> {
  const runs = new Map(targets.map((target): [number, Seen[]] => [target, []]));
  const ms = spanMs(ROUND, at.perSecond);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [target, seen] of runs) {
      progress(`  round ${round + 1} of ${ROUNDS}: ${target} in flight`);
      seen.push(await loop.measure(target, settleMs(ms, target, at), ms));
    }
  }
  return targets.map((target) => ({
    target,
    perSecond: median(runs.get(target)!.map((run) => run.perSecond)),
    p99Ms: median(runs.get(target)!.map((run) => run.p99Ms)),
  }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function study(model: ZooModel, replica: Replica): Promise<Result> {
  const loop = new ClosedLoop(replica.address, model.path, model.body);
  try {
    const levels = await sweep(loop);
    const bestAt = bestTarget(levels);
    const at = levels.findLast(({ target }) => target <= bestAt)!;
    const cycleMs = spanMs(CYCLE, levels.findLast(({ target }) => target <= EARLY_TARGET)!.perSecond);
    const learned = await learnLive(replica, loop, cycleMs, Math.min(MOST_CYCLES, Math.floor(LEARN_MS / cycleMs)));
    step(`  ${learned.history.map((cycle) => cycle.target).join(" ")} (${learned.history.at(-1)?.reason})`);
    const limit = await runGradient2(loop, at.perSecond);
    const measured = await compare(loop, [bestAt, learned.target, FIXED, limit], at);
    if (loop.failed > 0) step(`  ${loop.failed} requests failed, the last with: ${loop.failure}`);
    const [best, law, fixed, gradient2] = measured as [Measured, Measured, Measured, Measured];
    return { name: model.name, best, law, fixed, gradient2, learned };
  } finally {
    loop.close();
  }
}

const COLUMNS = [14, 6, 8, 20, 20, 7, 7, 9, 13, 10];

function printRow(cells: readonly (string | number)[]): void {
  progress("");
  console.log(cells.map((cell, index) => String(cell).padStart(COLUMNS[index] ?? 0)).join(" "));
}

function rowOf({ name, best, law, fixed, gradient2, learned }: Result): readonly (string | number)[] {
  const told = ({ perSecond, p99Ms }: Measured): string => `${perSecond.toFixed(0)}/s ${p99Ms.toFixed(1)} ms`;
  const percent = (measured: Measured): string => `${(errorOf(measured, best) * 100).toFixed(0)} %`;
  const cycles = learned.settled ? learned.cycles : `${learned.cycles}+`;
  return [
    name,
    best.target,
    law.target,
    told(best),
    told(law),
    percent(law),
    cycles,
    percent(fixed),
    gradient2.target,
    percent(gradient2),
  ];
}

function reportAll(results: readonly Result[], missing: readonly string[], startedMs: number): void {
  const worst = (pick: (result: Result) => number): number => Math.max(...results.map(pick));
  const figures = {
    models: results.length,
    worstErrorRatio: worst(({ law, best }) => errorOf(law, best)),
    medianErrorRatio: median(results.map(({ law, best }) => errorOf(law, best))),
    within15Percent: results.filter(({ law, best }) => errorOf(law, best) <= GOOD_ERROR).length,
    cyclesToConverge: worst(({ learned }) => learned.cycles),
    worstErrorRatioFixed: worst(({ fixed, best }) => errorOf(fixed, best)),
    worstErrorRatioGradient2: worst(({ gradient2, best }) => errorOf(gradient2, best)),
    minutes: (performance.now() - startedMs) / 60_000,
  };
  report("learn", figures, missing);
}

async function main(): Promise<void> {
  const startedMs = performance.now();
  const folder = await makeZoo();
  const dataDir = join(folder, "region");
  mkdirSync(dataDir, { recursive: true });
  const asked = process.argv.slice(2);
  const results: Result[] = [];
  const missing: string[] = [];
  process.once("SIGINT", () => {
    if (results.length > 0) reportAll(results, missing, startedMs);
    process.exit(130);
  });
  const head = [
    "model",
    "best",
    "learned",
    "at best",
    "at learned",
    "error",
    "cycles",
    "fixed 70",
    "gradient2 at",
    "error",
  ];
  printRow(head);
  for (const model of listZoo(folder)) {
    if (asked.length > 0 && !asked.includes(model.name)) continue;
    step(`${model.name} (load ${loadavg()[0]!.toFixed(1)})`);
    try {
      if ("why" in model) throw new Error(model.why);
      const replica = await startReplica(model, dataDir);
      try {
        const result = await study(model, replica);
        results.push(result);
        printRow(rowOf(result));
      } finally {
        await replica.stop();
      }
    } catch (error) {
      missing.push(`${model.name}: ${(error as Error).message.slice(0, 200)}`);
      step(`  ${missing.at(-1)}`);
    }
  }
  reportAll(results, missing, startedMs);
  process.exit(0);
}

await main();
