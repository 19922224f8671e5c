import { sha256Hex } from "../core/canonical.ts";
import { splitUniform } from "../core/prng.ts";
import { histogramQuantile } from "../core/window/histogram.ts";
import { LATENCY_EDGES_MS } from "../domain/load.ts";
import type { RateRps } from "./arrivals.ts";
import { FluidLoad } from "./fluid-load.ts";
import type { StartDelay } from "./model-fleet.ts";
import { ModelFleet } from "./model-fleet.ts";
import type { ServiceModel } from "./service-model.ts";

/** One experiment: a scaling law, a modelled service and an arrival rate, in virtual time. */
export interface Experiment {
  readonly seed: number;
  readonly durationMs: number;
  readonly rate: RateRps;
  readonly service: ServiceModel;
  readonly start: StartDelay;
  readonly queueMost: number;
  /** Replicas that exist, ready, at time 0. */
  readonly initialReplicas: number;
}

/** What a law may look at. */
export interface LabView {
  readonly nowMs: number;
  readonly load: FluidLoad;
  readonly fleet: ModelFleet;
}

/** A scaling law under test: asked each `everyMs`, and at once on a queue's rising edge where `wakes`. */
export interface LabLaw {
  readonly name: string;
  readonly everyMs: number;
  readonly wakes: boolean;
  /** Called each second of virtual time: the time to sample. */
  sample(view: LabView): void;
  decide(view: LabView): { readonly replicas: number; readonly reason: string };
  /** Most requests one replica takes at once. */
  hardCap(): number;
}

/** State at the end of one second. */
export interface LabRow {
  readonly atMs: number;
  readonly asked: number;
  readonly ready: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly reason: string;
}

/** What an experiment came to. */
export interface LabResult {
  readonly rows: readonly LabRow[];
  readonly arrivals: number;
  readonly completed: number;
  readonly turnedAway: number;
  readonly replicaSeconds: number;
  latencyMs(q: number): number;
  /** Equal for equal seeds: SHA-256 over the rows. */
  readonly traceHash: string;
}

/** Longest step of virtual time: short against windows of seconds. */
const LONGEST_STEP_MS = 50;
/** A fifth of the unloaded service time, as a divisor of a second: requests must not outstay their service by a step. */
function stepFor(service: ServiceModel): number {
  const wanted = Math.min(LONGEST_STEP_MS, 0.2 / service.completionsPerMs(1));
  return [50, 25, 20, 10, 5, 4, 2].find((step) => step <= wanted) ?? 1;
}

/** Least time between two decisions of a law that is woken. */
const MIN_GAP_MS = 200;

/** Runs an experiment to its end. Cost: about a microsecond per step and law-free replica; real time is never read. */
export function runExperiment(plan: Experiment, law: LabLaw): LabResult {
  const load = new FluidLoad(plan.service, plan.queueMost, splitUniform(plan.seed, "load"));
  const fleet = new ModelFleet("lab-0000000000", plan.start, splitUniform(plan.seed, "start"));
  fleet.apply(plan.initialReplicas, -1_000_000);
  const stepMs = stepFor(plan.service);
  const rows: LabRow[] = [];
  let reason = "none";
  let decidedAtMs = Number.NEGATIVE_INFINITY;
  let wasQueued = false;
  for (let nowMs = 0; nowMs < plan.durationMs; nowMs += stepMs) {
    const view: LabView = { nowMs, load, fleet };
    const ready = fleet.readyAt(nowMs);
    load.step(nowMs, stepMs, plan.rate(nowMs), ready.length, law.hardCap());
    fleet.tick(stepMs);
    const rising = load.queued > 0 && !wasQueued;
    wasQueued = load.queued > 0;
    if (nowMs % 1_000 === 0 || (rising && law.wakes)) law.sample(view);
    const woken = law.wakes && rising && nowMs - decidedAtMs >= MIN_GAP_MS;
    if (woken || nowMs - decidedAtMs >= law.everyMs) {
      const decision = law.decide(view);
      fleet.apply(decision.replicas, nowMs);
      reason = decision.reason;
      decidedAtMs = nowMs;
    }
    if (nowMs % 1_000 === 0) {
      const { inFlight, queued } = load;
      rows.push({ atMs: nowMs, asked: fleet.replicas.length, ready: ready.length, inFlight, queued, reason });
    }
  }
  return {
    rows,
    arrivals: load.arrivals,
    completed: load.completed,
    turnedAway: load.turnedAway,
    replicaSeconds: fleet.replicaMsTotal / 1_000,
    latencyMs: (q) => histogramQuantile(LATENCY_EDGES_MS, load.latencyBuckets, q) ?? 0,
    traceHash: sha256Hex(JSON.stringify(rows)),
  };
}
