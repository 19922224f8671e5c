import type { Curve, CurvePoint } from "./curve.ts";
import { believedPoints, inFlightOf, serviceMsOf } from "./curve.ts";

/**
 * Service time S against requests in flight n, as s0 (1 + (n/k)^p)^(q/p): flat up to about k, then growing as n^q.
 * It is exact for a queue at one server (p = q = 1, k = 1), for a batch that takes a + b n (p = q = 1, k = a/b), in the
 * limit of large p for c cores (q = 1, k = c) and for memory that holds k requests (q > 1: throughput falls beyond).
 */
export interface ServiceCurve {
  readonly unloadedMs: number;
  readonly bend: number;
  readonly sharpness: number;
  readonly growth: number;
}

/** The concurrency with the most power, in whole requests, and how far the curve proves it. */
export interface Knee {
  readonly inFlight: number;
  /** In flight as high as the knee was seen: it is read off the curve and not foretold from below it. */
  readonly located: boolean;
  /** A level as high or little lower was seen, and one little higher: the knee does not lie in a gap between what was seen. */
  readonly seenBelow: boolean;
  readonly seenAbove: boolean;
  /** Service time grows from the lowest level seen on, or one request alone has more power: the knee may as well lie below. */
  readonly lowest: boolean;
  /** Power at `inFlight` as a share of the knee's. */
  readonly powerShare: (inFlight: number) => number;
}

/** Sharpness of the bend: from a batch's long slope to a hard edge. */
const SHARPNESSES = [1, 1.4, 2, 3, 5, 9, 20, 50];
/** Bends are tried in steps of this ratio: a third of what half a request is at 16 in flight. */
const BEND_RATIO = 1.02;
/** A bend is foretold at most this far above what was seen. */
const FARTHEST_FACTOR = 4;
/** Service time grows at least in proportion to what is in flight (throughput stays), at most as n^4 (it falls as n^-3). */
const LEAST_GROWTH = 1;
const MOST_GROWTH = 4;
/** Most models level off and do not fall: growth is taken as LEAST_GROWTH +- this until the points say otherwise. */
const GROWTH_SPREAD = 1;
const PRIOR_WEIGHT = 1 / GROWTH_SPREAD ** 2;
/** A soft bend is taken before a sharp one until the points say otherwise: noise looks sharp. Weighs the square of log p. */
const SOFT_WEIGHT = 0.1;
/** A mean of N service times is known to 2/sqrt(N): they spread as an exponential and come in busy spells. */
const SPREAD_SQUARED = 4;
/** And never better than this: replicas differ, in flight moves while it is averaged. */
const LEAST_ERROR_SQUARED = 0.03 ** 2;
/** Levels this near are the same: under half a bucket. */
const SAME_RATIO = 1.03;
/** From here on in flight there is nearly always another: what a request alone takes was not seen. */
const NOT_ALONE = 1.5;
/** Little lower or higher is within this ratio, or the next whole number. */
const NEAR_BY_RATIO = 1.2;
/** The curve bends when it rises by this much from its least to its most in flight; less may be noise. */
const RISEN_RATIO = 1.2;
/**
 * Service time grows ever faster with what is in flight. A first step steeper than this many times what follows is another
 * regime: where a run is awaited before the next begins, two take twice as long as one, and twenty hardly longer than two.
 */
const STEEPER_FACTOR = 2;

/**
 * The knee: the concurrency with the best power, throughput over latency (Kleinrock 1979), n / (S(n) (S(n) + w)). Latency
 * is what a client sees: service time and what lies on the way to the replica, `onTheWayMs` = w. Where throughput levels
 * off it is the throughput limit times the unloaded service time. `unloadedMs`: what one request alone takes, as far as it is
 * known without having been seen under load. Null while service time has not risen with load, or fewer than two levels are
 * believed.
 */
export function kneeOf(curve: Curve, onTheWayMs: number, unloadedMs: number | null): Knee | null {
  const believed = believedPoints(curve);
  const levels = believed.map(inFlightOf);
  const points = bearingPoints(believed, onTheWayMs);
  const fitted = fitCurve(points);
  if (fitted === null) return null;
  const most = inFlightOf(points[points.length - 1]!);
  if (serviceAt(fitted, most) < RISEN_RATIO * serviceAt(fitted, inFlightOf(points[0]!))) return null;
  const power = (inFlight: number) => powerOf(inFlight, serviceAt(fitted, inFlight), onTheWayMs);
  const best = mostPower(power, levels[0]!, most * FARTHEST_FACTOR);
  const alone = unloadedMs === null ? 0 : powerOf(1, unloadedMs, onTheWayMs);
  const below = Math.max(...levels.filter((level) => level <= best * SAME_RATIO));
  const above = Math.min(...levels.filter((level) => level > best * SAME_RATIO));
  return {
    inFlight: Math.max(1, Math.round(best)),
    located: best <= most * SAME_RATIO,
    seenBelow: below * SAME_RATIO >= Math.min(best / NEAR_BY_RATIO, best - 1),
    seenAbove: above <= Math.max(best * NEAR_BY_RATIO, best + 1) * SAME_RATIO,
    lowest: best <= levels[0]! * SAME_RATIO || (levels[0]! >= NOT_ALONE && alone > power(best)),
    powerShare: (inFlight) => power(inFlight) / power(best),
  };
}

/** Throughput over the latency that a client sees. */
function powerOf(inFlight: number, serviceMs: number, onTheWayMs: number): number {
  return inFlight / (serviceMs * (serviceMs + onTheWayMs));
}

/** What bears on the knee: not the lowest levels where the first step up is far steeper than what follows, unless they are best. */
function bearingPoints(points: readonly CurvePoint[], onTheWayMs: number): readonly CurvePoint[] {
  const power = points.map((point) => powerOf(inFlightOf(point), serviceMsOf(point), onTheWayMs));
  const best = power.indexOf(Math.max(...power));
  const last = points.length - 1;
  let first = 0;
  while (first < best && first + 2 <= last) {
    const [low, next, most] = [points[first]!, points[first + 1]!, points[last]!];
    if (slopeOf(low, next) <= STEEPER_FACTOR * slopeOf(next, most)) break;
    first++;
  }
  return points.slice(first);
}

function slopeOf(low: CurvePoint, high: CurvePoint): number {
  return (serviceMsOf(high) - serviceMsOf(low)) / (inFlightOf(high) - inFlightOf(low));
}

/** Where from `least` to `most` there is the most power, to a percent: power tells no less apart. */
function mostPower(power: (inFlight: number) => number, least: number, most: number): number {
  let best = least;
  for (let inFlight = least; inFlight <= most; inFlight *= 1.01) {
    if (power(inFlight) > power(best)) best = inFlight;
  }
  return best;
}

/** Service time that the fitted curve gives at `inFlight`. */
function serviceAt({ unloadedMs, bend, sharpness, growth }: ServiceCurve, inFlight: number): number {
  return unloadedMs * (1 + (inFlight / bend) ** sharpness) ** (growth / sharpness);
}

/**
 * Least squares on the logarithm of service time: with bend and sharpness given it is linear in log s0 and growth, so
 * these two come exactly and the other two from a grid. Null with fewer than two points. Cost: about 1 ms for 20 points.
 */
function fitCurve(points: readonly CurvePoint[]): ServiceCurve | null {
  if (points.length < 2) return null;
  const seen = points.map((point) => ({
    inFlight: inFlightOf(point),
    logMs: Math.log(serviceMsOf(point)),
    weight: 1 / (SPREAD_SQUARED / point.completed + LEAST_ERROR_SQUARED),
  }));
  const lowest = seen[0]!.inFlight;
  const highest = seen[seen.length - 1]!.inFlight * FARTHEST_FACTOR;
  let best: ServiceCurve | null = null;
  let bestLoss = Number.POSITIVE_INFINITY;
  // From above, so that of bends which explain the points alike the largest is taken: what lies below them was not seen.
  for (let bend = highest; bend > lowest / BEND_RATIO; bend /= BEND_RATIO) {
    for (const sharpness of SHARPNESSES) {
      const { loss, ...fit } = fitLinear(seen, bend, sharpness);
      if (loss >= bestLoss * (1 - 1e-9)) continue;
      bestLoss = loss;
      best = { bend, sharpness, ...fit };
    }
  }
  return best;
}

interface Seen {
  readonly inFlight: number;
  readonly logMs: number;
  readonly weight: number;
}

function fitLinear(seen: readonly Seen[], bend: number, sharpness: number) {
  const rises = seen.map(({ inFlight }) => Math.log1p((inFlight / bend) ** sharpness) / sharpness);
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (let index = 0; index < seen.length; index++) {
    const { weight, logMs } = seen[index]!;
    const x = rises[index]!;
    w += weight;
    wx += weight * x;
    wy += weight * logMs;
    wxx += weight * x * x;
    wxy += weight * x * logMs;
  }
  const slope = (wxy - (wx * wy) / w + PRIOR_WEIGHT * LEAST_GROWTH) / (wxx - (wx * wx) / w + PRIOR_WEIGHT);
  const growth = Math.min(MOST_GROWTH, Math.max(LEAST_GROWTH, slope));
  const logUnloaded = (wy - growth * wx) / w;
  let loss = PRIOR_WEIGHT * (growth - LEAST_GROWTH) ** 2 + SOFT_WEIGHT * Math.log(sharpness) ** 2;
  for (let index = 0; index < seen.length; index++) {
    const { weight, logMs } = seen[index]!;
    loss += weight * (logMs - logUnloaded - growth * rises[index]!) ** 2;
  }
  return { loss, growth, unloadedMs: Math.exp(logUnloaded) };
}
