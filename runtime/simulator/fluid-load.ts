import type { Uniform } from "../core/prng.ts";
import { bucketOf } from "../core/window/histogram.ts";
import { emptyLatencyBuckets, LATENCY_EDGES_MS } from "../domain/load.ts";
import { poissonCount } from "./arrivals.ts";
import type { ServiceModel } from "./service-model.ts";

/**
 * The load of one version as whole numbers of requests on identical, evenly loaded replicas: arrivals and completions
 * are Poisson counts per step, so a step costs the same at 10 and at 100,000 requests per second. What it leaves out:
 * uneven replicas and the spread of service times around their mean; `fluid-load.test.ts` holds it against the exact path.
 */
export class FluidLoad {
  arrivals = 0;
  completed = 0;
  turnedAway = 0;
  inFlight = 0;
  inFlightMsTotal = 0;
  queuedMsTotal = 0;
  serviceMsTotal = 0;
  cpuMsPerReplica = 0;
  /** Counts by LATENCY_EDGES_MS, from arrival to answer. */
  readonly latencyBuckets: number[] = emptyLatencyBuckets();
  readonly #service: ServiceModel;
  readonly #queueMost: number;
  readonly #uniform: Uniform;
  /** Waiting requests by when they came, oldest first. */
  readonly #waiting: { readonly atMs: number; count: number }[] = [];
  /** Requests in flight by how long each had waited, oldest first. */
  readonly #running: { readonly waitedMs: number; count: number }[] = [];
  #queued = 0;

  constructor(service: ServiceModel, queueMost: number, uniform: Uniform) {
    this.#service = service;
    this.#queueMost = queueMost;
    this.#uniform = uniform;
  }

  get queued(): number {
    return this.#queued;
  }

  /** Advances by `stepMs` with `ready` replicas of `hardCap` each, at `rps` requests per second. */
  step(atMs: number, stepMs: number, rps: number, ready: number, hardCap: number): void {
    this.#serve(stepMs, ready);
    this.#arrive(atMs, poissonCount((rps * stepMs) / 1_000, this.#uniform));
    this.#admit(atMs, ready * hardCap);
    this.inFlightMsTotal += this.inFlight * stepMs;
    this.queuedMsTotal += this.#queued * stepMs;
  }

  #serve(stepMs: number, ready: number): void {
    if (ready === 0 || this.inFlight === 0) return;
    const perReplica = this.inFlight / ready;
    // Fewer requests than replicas: each is alone on its own.
    const level = Math.max(1, perReplica);
    const busy = Math.min(ready, this.inFlight);
    const expected = busy * this.#service.completionsPerMs(level) * stepMs;
    const done = Math.min(this.inFlight, poissonCount(expected, this.#uniform));
    const serviceMs = level / this.#service.completionsPerMs(level);
    this.inFlight -= done;
    this.completed += done;
    this.serviceMsTotal += done * serviceMs;
    this.cpuMsPerReplica += (this.#service.cpuUse(level) * stepMs * busy) / ready;
    this.#finish(serviceMs, done);
  }

  #finish(serviceMs: number, done: number): void {
    let left = done;
    while (left > 0) {
      const first = this.#running[0]!;
      const ended = Math.min(left, first.count);
      const bucket = bucketOf(LATENCY_EDGES_MS, first.waitedMs + serviceMs);
      this.latencyBuckets[bucket] = this.latencyBuckets[bucket]! + ended;
      first.count -= ended;
      left -= ended;
      if (first.count === 0) this.#running.shift();
    }
  }

  #arrive(atMs: number, count: number): void {
    this.arrivals += count;
    if (count === 0) return;
    this.#waiting.push({ atMs, count });
    this.#queued += count;
  }

  /** Moves what has room from the queue to the replicas; what exceeds the queue's bound is turned away, newest first. */
  #admit(atMs: number, room: number): void {
    let free = Math.max(0, room - this.inFlight);
    while (free > 0 && this.#waiting.length > 0) {
      const first = this.#waiting[0]!;
      const moved = Math.min(free, first.count);
      free -= moved;
      first.count -= moved;
      this.#queued -= moved;
      this.inFlight += moved;
      const waitedMs = atMs - first.atMs;
      const last = this.#running[this.#running.length - 1];
      if (last?.waitedMs === waitedMs) last.count += moved;
      else this.#running.push({ waitedMs, count: moved });
      if (first.count === 0) this.#waiting.shift();
    }
    while (this.#queued > this.#queueMost) {
      const last = this.#waiting[this.#waiting.length - 1]!;
      const dropped = Math.min(last.count, this.#queued - this.#queueMost);
      last.count -= dropped;
      this.#queued -= dropped;
      this.turnedAway += dropped;
      if (last.count === 0) this.#waiting.pop();
    }
  }
}
