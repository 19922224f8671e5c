/**
 * What a model has shown of itself: service time against requests in flight per replica, in geometric buckets of in
 * flight. From it comes the knee: the concurrency with the best power, throughput over latency (Kleinrock 1979), which is
 * where one more request in flight buys half its share of throughput: the core count of a CPU-bound model, a/b of a batch
 * that takes a + b x n, the point before a memory-bound one falls.
 */
export interface Curve {
  readonly points: readonly CurvePoint[];
}

/** One bucket: sums over its requests, so that means are exact and merging is adding. */
export interface CurvePoint {
  readonly bucket: number;
  readonly completed: number;
  readonly inFlightSum: number;
  readonly serviceMsSum: number;
  /** Means of resource readings seen in this bucket, by name. */
  readonly signals: Readonly<Record<string, number>>;
}

/** What was seen at one level of in flight. */
export interface Observation {
  readonly inFlight: number;
  readonly serviceMs: number;
  readonly completed: number;
  readonly signals: Readonly<Record<string, number>>;
}

/** Where the power peaks, and whether both its sides were seen. */
export interface Knee {
  readonly inFlight: number;
  /** The lowest in flight above it at which clearly less power was seen, or null. */
  readonly worseFrom: number | null;
  /** Both sides were seen from near by, so that the knee lies at the peak and not in a gap above it. */
  readonly located: boolean;
  /** Power still rises where in flight is lowest: the knee lies at or below it. */
  readonly atLowest: boolean;
}

/** Buckets are 12 % wide: under the 15 % that a learned target may be off. */
const BUCKET_RATIO = 1.12;
/** Requests a bucket needs before it is believed: a service time of CV 1 is then known to 10 %. */
const BELIEVED_COMPLETED = 100;
/** Requests a bucket remembers; older ones fade as newer ones come. */
const REMEMBERED_COMPLETED = 3_000;
/** The parabola is laid through points within this factor of the best one, and of at least its power over this. */
const NEAR_TOP_FACTOR = 2.2;
const NEAR_TOP_POWER = 1.6;
/** Widest step from the best point to the next one above it that leaves the knee no room between them. */
const LARGEST_GAP_FACTOR = 1.6;
/** A reading rises with in flight when it is this much over what it was at half the load. */
const RISES_RATIO = 1.1;
/** Less power than this share of the best is worse beyond noise. */
const WORSE_RATIO = 0.92;

/** A curve without points. */
export const EMPTY_CURVE: Curve = { points: [] };

/** Adds an observation to its bucket. */
export function observeCurve(curve: Curve, seen: Observation): Curve {
  if (seen.completed <= 0 || seen.inFlight <= 0 || seen.serviceMs <= 0) return curve;
  const bucket = bucketFor(seen.inFlight);
  const old = curve.points.find((point) => point.bucket === bucket);
  const fade = old === undefined ? 0 : Math.min(1, REMEMBERED_COMPLETED / (old.completed + seen.completed));
  const completed = (old?.completed ?? 0) * fade + seen.completed;
  const newShare = seen.completed / completed;
  const signals: Record<string, number> = { ...old?.signals };
  for (const [name, value] of Object.entries(seen.signals)) {
    signals[name] = value * newShare + (signals[name] ?? value) * (1 - newShare);
  }
  const point: CurvePoint = {
    bucket,
    completed,
    inFlightSum: (old?.inFlightSum ?? 0) * fade + seen.inFlight * seen.completed,
    serviceMsSum: (old?.serviceMsSum ?? 0) * fade + seen.serviceMs * seen.completed,
    signals,
  };
  const others = curve.points.filter((other) => other.bucket !== bucket);
  return { points: [...others, point].sort((a, b) => a.bucket - b.bucket) };
}

/** The whole curve slower or faster by `factor`: the workload's requests changed, the model did not. */
export function rescaleCurve(curve: Curve, factor: number): Curve {
  return { points: curve.points.map((point) => ({ ...point, serviceMsSum: point.serviceMsSum * factor })) };
}

/** The believed point of the bucket that `inFlight` falls into, or null. */
export function pointAt(curve: Curve, inFlight: number): CurvePoint | null {
  return believed(curve).find((point) => point.bucket === bucketFor(inFlight)) ?? null;
}

/** The believed point with the least in flight, or null. */
export function lowestPoint(curve: Curve): CurvePoint | null {
  return believed(curve)[0] ?? null;
}

/** Mean requests in flight of a point's bucket. */
export function inFlightOf(point: CurvePoint): number {
  return point.inFlightSum / point.completed;
}

/** Mean service time of a point. */
export function serviceMsOf(point: CurvePoint): number {
  return point.serviceMsSum / point.completed;
}

/** Throughput over latency, in requests per square millisecond. */
function powerOf(inFlight: number, serviceMs: number): number {
  return inFlight / (serviceMs * serviceMs);
}

/** The knee as far as the curve shows it, or null with fewer than two believed points. */
export function kneeOf(curve: Curve): Knee | null {
  const points = believed(curve).map((point) => ({
    x: Math.log(inFlightOf(point)),
    y: Math.log(powerOf(inFlightOf(point), serviceMsOf(point))),
    weight: Math.sqrt(Math.min(point.completed, REMEMBERED_COMPLETED)),
  }));
  if (points.length < 2) return null;
  const best = points.reduce((top, point) => (point.y > top.y ? point : top));
  // Only the top itself is a parabola: a far or much lower point (a memory-bound model's fall) would pull it aside.
  const around = points.filter(
    (point) => Math.abs(point.x - best.x) <= Math.log(NEAR_TOP_FACTOR) && point.y >= best.y - Math.log(NEAR_TOP_POWER),
  );
  const worse = points.find((point) => point.x > best.x && point.y < best.y + Math.log(WORSE_RATIO));
  const next = points.find((point) => point.x > best.x);
  const located = worse !== undefined && next !== undefined && next.x - best.x <= Math.log(LARGEST_GAP_FACTOR);
  const top = clamp(vertexOf(around) ?? best.x, around[0]!.x, around[around.length - 1]!.x);
  return {
    inFlight: Math.exp(worse === undefined || located ? top : clamp(flatMeetsRising(best, worse), best.x, worse.x)),
    worseFrom: worse === undefined ? null : Math.exp(worse.x),
    located,
    atLowest: located && best === points[0],
  };
}

/** Whether serving `inFlight` at `serviceMs` is worse, beyond noise, than the best the curve shows at less in flight. */
export function isPastKnee(curve: Curve, inFlight: number, serviceMs: number): boolean {
  const power = powerOf(inFlight, serviceMs);
  return believed(curve).some(
    (point) =>
      inFlightOf(point) < inFlight / BUCKET_RATIO &&
      power < WORSE_RATIO * powerOf(inFlightOf(point), serviceMsOf(point)),
  );
}

/**
 * Whether a resource reading at `inFlight` was clearly lower at half that load or less. Where that was never seen, or
 * where it reads full at any load (a batch, preallocated memory), the metric proves nothing.
 */
export function risesWithLoad(curve: Curve, inFlight: number, name: string, reading: number): boolean {
  return curve.points.some((point) => {
    const lower = point.signals[name];
    // Under one in flight a replica is idle at times, whatever its kind.
    return (
      inFlightOf(point) >= 1 &&
      inFlightOf(point) <= inFlight / 2 &&
      lower !== undefined &&
      reading > lower * RISES_RATIO
    );
  });
}

interface Weighted {
  readonly x: number;
  readonly y: number;
  readonly weight: number;
}

/**
 * Across a gap: where throughput, growing with in flight as up to the best point, would meet the worse point's throughput.
 * With x the logarithm of in flight and y that of power, the logarithm of throughput is (x + y) / 2.
 */
function flatMeetsRising(best: Weighted, worse: Weighted): number {
  return best.x + (worse.x + worse.y) / 2 - (best.x + best.y) / 2;
}

/** Top of the weighted least-squares parabola through the points, or null where it has none. */
function vertexOf(points: readonly Weighted[]): number | null {
  if (points.length < 3) return null;
  const total = points.reduce((sum, point) => sum + point.weight, 0);
  const middle = points.reduce((sum, point) => sum + point.weight * point.x, 0) / total;
  const moment = (power: number, ofY: boolean) =>
    points.reduce((sum, point) => sum + point.weight * (point.x - middle) ** power * (ofY ? point.y : 1), 0);
  const [s0, s1, s2, s3, s4] = [0, 1, 2, 3, 4].map((power) => moment(power, false)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const [t0, t1, t2] = [0, 1, 2].map((power) => moment(power, true)) as [number, number, number];
  const determinant = s4 * (s2 * s0 - s1 * s1) - s3 * (s3 * s0 - s1 * s2) + s2 * (s3 * s1 - s2 * s2);
  if (Math.abs(determinant) < 1e-12) return null;
  const square = (t2 * (s2 * s0 - s1 * s1) - s3 * (t1 * s0 - s1 * t0) + s2 * (t1 * s1 - s2 * t0)) / determinant;
  const linear = (s4 * (t1 * s0 - t0 * s1) - t2 * (s3 * s0 - s1 * s2) + s2 * (s3 * t0 - s2 * t1)) / determinant;
  return square < 0 ? middle - linear / (2 * square) : null;
}

function believed(curve: Curve): readonly CurvePoint[] {
  return curve.points.filter((point) => point.completed >= BELIEVED_COMPLETED);
}

function bucketFor(inFlight: number): number {
  return Math.round(Math.log(inFlight) / Math.log(BUCKET_RATIO));
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
