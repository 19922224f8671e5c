import { ON_THE_WAY_MS } from "../../../runtime/control/autoscaler/laws.ts";

/**
 * The rule that both learning benches judge by. The best fixed target is the one with the most power, throughput over the
 * mean latency that a client sees (Kleinrock 1979). A target's error is what a user loses by it: throughput, or p99.
 */

/** What a replica did with a fixed number of requests in flight. */
export interface Level {
  readonly target: number;
  readonly perSecond: number;
}

/** A level measured for comparison. */
export interface Measured extends Level {
  readonly p99Ms: number;
}

/** Levels with this share of the best power are as good: the best is known no better. */
const AS_GOOD = 0.9;
/**
 * A sweep ends when this many levels in a row have less than this share of the best power and no more throughput than a
 * lower one: where batches run in turn, power falls at first, when a second request waits for the first one's run.
 */
const PAST_BEST = { levels: 3, ratio: 0.6, growth: 1.15 };
/** While this much of throughput in proportion to in flight is there, nothing waits, and levels are doubled. */
const PROPORTIONAL = 0.9;
const MOST_LEVEL = 2_048;

/** Throughput over mean latency, which by Little's law is in flight over throughput. */
export function powerOf({ target, perSecond }: Level): number {
  return perSecond / ((target / perSecond) * 1_000 + ON_THE_WAY_MS);
}

/**
 * The level after those of a sweep so far, by rising target: 1, 2, 3, 4, 6, 8, 11, 16, ... (powers of 2 while nothing
 * waits). Null once power is past its best.
 */
export function nextLevel(levels: readonly Level[]): number | null {
  const [first] = levels;
  const last = levels.at(-1);
  if (first === undefined || last === undefined) return 1;
  const best = Math.max(...levels.map(powerOf));
  const isPast = (level: Level, index: number) =>
    powerOf(level) < PAST_BEST.ratio * best &&
    level.perSecond < PAST_BEST.growth * Math.max(...levels.slice(0, index).map(({ perSecond }) => perSecond));
  const from = levels.length - PAST_BEST.levels;
  if (from > 0 && levels.slice(from).every((level, index) => isPast(level, from + index))) return null;
  if (last.target >= MOST_LEVEL) return null;
  const proportional = last.perSecond > PROPORTIONAL * last.target * (first.perSecond / first.target);
  // Half steps of two; of the smallest, which round to the same number, the next one.
  const half = Math.round(2 * Math.log2(last.target)) + (proportional ? 2 : 1);
  return Math.max(last.target + 1, Math.round(2 ** (half / 2)));
}

/** Levels around the one with the most power that are as good as it, as indexes of the first and the last. */
function flatTop(levels: readonly Level[]): readonly [first: number, last: number] {
  const power = levels.map(powerOf);
  const best = power.indexOf(Math.max(...power));
  const asGood = (index: number) => (power[index] ?? 0) >= AS_GOOD * power[best]!;
  let first = best;
  let last = best;
  while (asGood(first - 1)) first--;
  while (asGood(last + 1)) last++;
  return [first, last];
}

/** Levels to look at once more, a quarter step of two beside a best one that stands alone: a sharp bend lies between levels. */
export function levelsBeside(levels: readonly Level[]): readonly number[] {
  const [first, last] = flatTop(levels);
  if (first < last) return [];
  const { target } = levels[first]!;
  const beside = [Math.round(target * 2 ** -0.25), Math.round(target * 2 ** 0.25)];
  return beside.filter((level) => level >= 1 && level <= MOST_LEVEL && !levels.some((seen) => seen.target === level));
}

/** The best fixed target of a sweep, by rising target: the middle, by ratio, of the levels that are as good as the best. */
export function bestTarget(levels: readonly Level[]): number {
  const [first, last] = flatTop(levels);
  return Math.round(Math.sqrt(levels[first]!.target * levels[last]!.target));
}

/** The larger of throughput lost and of p99 gained, as a client sees it, against the best fixed target, as a share; 0 where it is better in both. */
export function errorOf(measured: Measured, best: Measured): number {
  const slower = (measured.p99Ms + ON_THE_WAY_MS) / (best.p99Ms + ON_THE_WAY_MS) - 1;
  return Math.max(0, 1 - measured.perSecond / best.perSecond, slower);
}

/** The error that a learned target may have. */
export const GOOD_ERROR = 0.15;
