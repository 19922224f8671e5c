/**
 * What a model has shown of itself: service time against requests in flight per replica, in geometric buckets of in
 * flight, older requests fading as newer ones come.
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

/** Buckets are 8 % wide: less than a step of the target, so that one step higher is told apart from where it stood. */
const BUCKET_RATIO = 1.08;
/** Requests a bucket needs before it is believed: a service time of CV 1 is then known to 10 %. */
const BELIEVED_COMPLETED = 100;
/** Requests a bucket remembers; older ones fade as newer ones come. */
const REMEMBERED_COMPLETED = 30_000;
/** A reading rises with in flight when it is this much over what it was at half the load. */
const RISES_RATIO = 1.1;
/** A sample counts as at most this many times slower or faster than its bucket: a spike hardly moves a mean. */
const SPIKE_RATIO = 1.5;

/** A curve without points. */
export const EMPTY_CURVE: Curve = { points: [] };

/** Adds an observation to its bucket. */
export function observeCurve(curve: Curve, seen: Observation): Curve {
  if (seen.completed <= 0 || seen.inFlight <= 0 || seen.serviceMs <= 0) return curve;
  const bucket = bucketFor(seen.inFlight);
  const old = curve.points.find((point) => point.bucket === bucket);
  const serviceMs = old === undefined ? seen.serviceMs : withinSpike(seen.serviceMs, old);
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
    serviceMsSum: (old?.serviceMsSum ?? 0) * fade + serviceMs * seen.completed,
    signals,
  };
  const others = curve.points.filter((other) => other.bucket !== bucket);
  return { points: [...others, point].sort((a, b) => a.bucket - b.bucket) };
}

/** The whole curve slower or faster by `factor`: the workload's requests changed, the model did not. */
export function rescaleCurve(curve: Curve, factor: number): Curve {
  return { points: curve.points.map((point) => ({ ...point, serviceMsSum: point.serviceMsSum * factor })) };
}

/** The curve with each bucket remembering only `share` of its requests: what was seen long ago counts less. */
export function fadeCurve(curve: Curve, share: number): Curve {
  return {
    points: curve.points.map((point) => ({
      ...point,
      completed: point.completed * share,
      inFlightSum: point.inFlightSum * share,
      serviceMsSum: point.serviceMsSum * share,
    })),
  };
}

/** The believed point of the bucket that `inFlight` falls into, or null. */
export function pointAt(curve: Curve, inFlight: number): CurvePoint | null {
  return believedPoints(curve).find((point) => point.bucket === bucketFor(inFlight)) ?? null;
}

/** Mean requests in flight of a point's bucket. */
export function inFlightOf(point: CurvePoint): number {
  return point.inFlightSum / point.completed;
}

/** Mean service time of a point. */
export function serviceMsOf(point: CurvePoint): number {
  return point.serviceMsSum / point.completed;
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

/** The points that hold enough requests to be believed, by rising in flight. */
export function believedPoints(curve: Curve): readonly CurvePoint[] {
  return curve.points.filter((point) => point.completed >= BELIEVED_COMPLETED);
}

function bucketFor(inFlight: number): number {
  return Math.round(Math.log(inFlight) / Math.log(BUCKET_RATIO)) + 0;
}

function withinSpike(serviceMs: number, old: CurvePoint): number {
  if (old.completed < BELIEVED_COMPLETED) return serviceMs;
  const mean = serviceMsOf(old);
  return Math.min(mean * SPIKE_RATIO, Math.max(mean / SPIKE_RATIO, serviceMs));
}
