import { mkdirSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { ClosedLoop, pause, type Seen } from "./zoo/closed-loop.ts";
import { Gradient2 } from "./zoo/gradient2.ts";
import { type Learned, learnLive } from "./zoo/law-loop.ts";
import { makeZoo } from "./zoo/make-zoo.ts";
import { listZoo, type ZooModel } from "./zoo/models.ts";
import { type Replica, startReplica } from "./zoo/replica.ts";

/**
 * bench:learn: learned target concurrency of real models, each a real replica process with no settings, against the knee
 * found by a sweep of fixed targets; beside a fixed target of 100 x 0.7 (Knative's default) and a Gradient2 limiter.
 * The best fixed target is the one with the most power, throughput over mean latency (Kleinrock 1979), or the middle of
 * those with nearly as much. At the end all four are measured in turns, so that a neighbour's burst hits each. Error: the larger of throughput lost and p99 gained
 * against the best fixed target, as a share.
 * Usage: node test/bench/learn.ts [MODEL ...]
 */

/** A level of the sweep, a round at the end, and a cycle of the law hold at least this many requests, within bounds of time. */
const SWEEP = { requests: 40, leastMs: 400, mostMs: 2_000 };
const ROUND = { requests: 100, leastMs: 800, mostMs: 4_000 };
const SLICE = { requests: 240, leastMs: 1_200, mostMs: 20_000 };
/**
 * What lies between a client and a replica, a network and a router, takes at least this long: latencies are compared with
 * it added, since a difference far below it is nothing to a client and would make one in flight the best of a fast model.
 */
const ON_THE_WAY_MS = 1;
/** Levels with this share of the best power are as good: the best is known no better. */
const AS_GOOD = 0.9;
/** The law has this long, in real time, to settle. */
const LEARN_MS = 120_000;
const ROUNDS = 3;
const PASSES = 2;
const MOST_LEVEL = 4_096;
/**
 * The sweep ends when this many levels in a row have less than this share of the best power and no more throughput than
 * a lower one: a model that batches may lose power at first, when a second request waits for the first one's run.
 */
const PAST_BEST = { levels: 3, ratio: 0.6, growth: 1.15 };
/** While this much of throughput in proportion to in flight is there, nothing waits, and levels are doubled. */
const PROPORTIONAL = 0.9;
const MOST_CYCLES = 40;
const GRADIENT2_MS = 4_000;
const FIXED = 70;

interface Candidate {
  readonly target: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

interface Result {
  readonly name: string;
  readonly knee: Candidate;
  readonly law: Candidate;
  readonly fixed: Candidate;
  readonly gradient2: Candidate;
  readonly learned: Learned;
}

function span(of: { requests: number; leastMs: number; mostMs: number }, perSecond: number): number {
  return Math.min(of.mostMs, Math.max(of.leastMs, (of.requests / perSecond) * 1_000));
}

/**
 * Levels 1, 2, 3, 4, 6, 8, 11, 16, ... (powers of 2 while nothing waits) until power is past its best, then all of them again and again, upward and
 * downward, so that a neighbour's burst hits no level alone; then the neighbours of the best.
 */
async function findKnee(loop: ClosedLoop): Promise<Best> {
  const sweep = new Sweep(loop);
  await sweep.look(1);
  let step = 1;
  for (let half = 2, past = 0; past < PAST_BEST.levels && 2 ** (half / 2) <= MOST_LEVEL; half += step) {
    const level = Math.round(2 ** (half / 2));
    const most = Math.max(...sweep.levels().map((lower) => sweep.rate(lower)));
    await sweep.look(level);
    const isPast = sweep.power(level) < PAST_BEST.ratio * sweep.power(sweep.best());
    step = sweep.rate(level) > PROPORTIONAL * level * sweep.rate(1) ? 2 : 1;
    past = isPast && sweep.rate(level) < PAST_BEST.growth * most ? past + 1 : 0;
  }
  const levels = sweep.levels().filter((level) => sweep.power(level) > 0.3 * sweep.power(sweep.best()));
  for (let pass = 1; pass < PASSES; pass++) {
    for (const level of pass % 2 === 1 ? levels.toReversed() : levels) await sweep.look(level);
  }
  const coarse = sweep.best();
  for (const level of [Math.round(coarse * 0.84), Math.round(coarse * 1.19)]) {
    if (sweep.levels().includes(level)) continue;
    for (let pass = 0; pass < PASSES; pass++) await sweep.look(level);
  }
  for (const level of sweep.levels()) {
    const power = sweep.power(level) / sweep.power(sweep.best());
    console.error(
      `    ${String(level).padStart(5)} in flight: ${sweep.rate(level).toFixed(1)}/s, power ${power.toFixed(2)}`,
    );
  }
  const target = sweep.middleOfBest();
  if (!sweep.levels().includes(target)) await sweep.look(target);
  return { target, perSecond: sweep.rate(target), alonePerSecond: sweep.rate(1) };
}

interface Best {
  readonly target: number;
  readonly perSecond: number;
  /** With one request in flight. */
  readonly alonePerSecond: number;
}

/** Throughput seen at each level, the best of its passes: a neighbour on the machine only ever takes some away. */
class Sweep {
  readonly #loop: ClosedLoop;
  readonly #seen = new Map<number, Seen[]>();

  constructor(loop: ClosedLoop) {
    this.#loop = loop;
  }

  async look(level: number): Promise<void> {
    if (level < 1) return;
    const fastest = Math.max(20, ...this.levels().map((known) => this.rate(known)));
    const ms = span(SWEEP, fastest);
    const seen = await this.#loop.measure(level, Math.min(ms / 2, 1_000), ms);
    this.#seen.set(level, [...(this.#seen.get(level) ?? []), seen]);
  }

  levels(): readonly number[] {
    return [...this.#seen.keys()].toSorted((a, b) => a - b);
  }

  rate(level: number): number {
    return Math.max(...this.#seen.get(level)!.map((seen) => seen.perSecond));
  }

  /** Throughput over mean latency, by Little's law from throughput and level. A level that is refused in part has none. */
  power(level: number): number {
    const held = Math.max(...this.#seen.get(level)!.map((seen) => seen.inFlight));
    const meanMs = (level / this.rate(level)) * 1_000;
    return held < level * 0.8 ? 0 : this.rate(level) / (meanMs + ON_THE_WAY_MS);
  }

  best(): number {
    return this.levels().reduce((top, level) => (this.power(level) > this.power(top) ? level : top));
  }

  /** The middle, by ratio, of the levels around the best that are as good as it: a flat top has no sharp best. */
  middleOfBest(): number {
    const levels = this.levels();
    const asGood = (level: number | undefined): level is number =>
      level !== undefined && this.power(level) >= AS_GOOD * this.power(this.best());
    let first = levels.indexOf(this.best());
    let last = first;
    while (asGood(levels[first - 1])) first--;
    while (asGood(levels[last + 1])) last++;
    return Math.round(Math.sqrt(levels[first]! * levels[last]!));
  }
}

async function runGradient2(loop: ClosedLoop, perSecond: number): Promise<number> {
  const limiter = new Gradient2();
  loop.hold(limiter.limit);
  loop.onSample = (serviceMs, inFlight) => {
    limiter.sample(serviceMs, inFlight);
    loop.hold(limiter.limit);
  };
  // Its long average spans 600 requests.
  await pause(Math.min(3 * GRADIENT2_MS, Math.max(GRADIENT2_MS, 600_000 / perSecond)));
  loop.onSample = null;
  return limiter.limit;
}

/** Measures the targets in turns and takes each one's medians. */
async function compare(loop: ClosedLoop, targets: readonly number[], perSecond: number): Promise<Candidate[]> {
  const runs = targets.map((): Seen[] => []);
  const ms = span(ROUND, perSecond);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, target] of targets.entries()) {
      // The same target once more is the same measurement.
      const same = targets.indexOf(target);
      runs[index]!.push(same < index ? runs[same]!.at(-1)! : await loop.measure(target, Math.min(ms / 2, 2_000), ms));
    }
  }
  return targets.map((target, index) => ({
    target,
    perSecond: median(runs[index]!.map((run) => run.perSecond)),
    p99Ms: median(runs[index]!.map((run) => run.p99Ms)),
  }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function study(model: ZooModel, replica: Replica): Promise<Result> {
  const loop = new ClosedLoop(replica.address, model.path, model.body);
  try {
    const { target: kneeAt, perSecond, alonePerSecond } = await findKnee(loop);
    const sliceMs = span(SLICE, alonePerSecond);
    const learned = await learnLive(replica, loop, sliceMs, Math.min(MOST_CYCLES, LEARN_MS / sliceMs));
    for (const { target, reason } of learned.history) console.error(`    ${reason} -> ${target}`);
    const limit = await runGradient2(loop, perSecond);
    const [knee, law, fixed, gradient2] = (await compare(loop, [kneeAt, learned.target, FIXED, limit], perSecond)) as [
      Candidate,
      Candidate,
      Candidate,
      Candidate,
    ];
    if (loop.failed > 0) console.error(`    ${loop.failed} requests failed, the last with: ${loop.failure}`);
    return { name: model.name, knee, law, fixed, gradient2, learned };
  } finally {
    loop.close();
  }
}

function errorOf(measured: Candidate, best: Candidate): number {
  const slower = (measured.p99Ms + ON_THE_WAY_MS) / (best.p99Ms + ON_THE_WAY_MS) - 1;
  return Math.max(1 - measured.perSecond / best.perSecond, slower, 0);
}

function rowOf({ knee, law, fixed, gradient2, learned }: Result): Record<string, string | number> {
  const told = ({ perSecond, p99Ms }: Candidate): string => `${perSecond.toFixed(0)}/s ${p99Ms.toFixed(1)} ms`;
  const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
  return {
    knee: knee.target,
    learned: law.target,
    "at knee": told(knee),
    "at learned": told(law),
    error: percent(errorOf(law, knee)),
    cycles: learned.cycles,
    "fixed 70": percent(errorOf(fixed, knee)),
    "gradient2 at": gradient2.target,
    gradient2: percent(errorOf(gradient2, knee)),
  };
}

async function main(): Promise<void> {
  const startedMs = performance.now();
  const folder = await makeZoo();
  const dataDir = join(folder, "region");
  mkdirSync(dataDir, { recursive: true });
  const asked = process.argv.slice(2);
  const results: Result[] = [];
  const table: Record<string, Record<string, string | number>> = {};
  for (const model of listZoo(folder)) {
    if (asked.length > 0 && !asked.includes(model.name)) continue;
    console.error(`${model.name} (load ${loadavg()[0]!.toFixed(1)})`);
    try {
      if ("why" in model) throw new Error(model.why);
      const replica = await startReplica(model, dataDir);
      try {
        const result = await study(model, replica);
        results.push(result);
        table[model.name] = rowOf(result);
      } finally {
        await replica.stop();
      }
    } catch (error) {
      table[model.name] = { missing: (error as Error).message.slice(0, 120) };
    }
  }
  console.table(table);
  const worst = (pick: (result: Result) => number): number => Number(Math.max(...results.map(pick)).toFixed(3));
  const figures = {
    models: results.length,
    worstErrorRatio: worst(({ law, knee }) => errorOf(law, knee)),
    medianErrorRatio: Number(median(results.map(({ law, knee }) => errorOf(law, knee))).toFixed(3)),
    within15Percent: results.filter(({ law, knee }) => errorOf(law, knee) <= 0.15).length,
    cyclesToConverge: worst(({ learned }) => learned.cycles),
    worstErrorRatioFixed: worst(({ fixed, knee }) => errorOf(fixed, knee)),
    worstErrorRatioGradient2: worst(({ gradient2, knee }) => errorOf(gradient2, knee)),
    loadAverage: Number(loadavg()[1]!.toFixed(1)),
    minutes: Number(((performance.now() - startedMs) / 60_000).toFixed(1)),
  };
  console.log(JSON.stringify({ bench: "learn", figures }));
  process.exit(0);
}

await main();
