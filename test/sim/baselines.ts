import type { LabLaw, LabView } from "../../runtime/simulator/scaling-lab.ts";

/**
 * Kubernetes HPA on a per-pod metric, as a pure function: ceil(ratio x pods) outside a tolerance of 0.1, up by at most
 * max(100 %, 4 pods) per 15 s, down to the largest recommendation of 300 s.
 * Source: kubernetes pkg/controller/podautoscaler/replica_calculator.go and pkg/apis/autoscaling/v2/defaults.go.
 */
export function hpaRecommendation(pods: number, metricPerPod: number, target: number): number {
  const ratio = metricPerPod / target;
  const wanted = Math.abs(ratio - 1) <= 0.1 ? pods : Math.ceil(ratio * pods);
  return Math.max(1, Math.min(wanted, Math.max(pods * 2, pods + 4)));
}

/**
 * The HPA in the lab: asked each 15 s, on a metric that is `metricLagMs` old (15 to 60 s in the field). `hardCap` is what a
 * replica takes at once.
 */
export function hpaLaw(target: number, metricLagMs: number, hardCap = Number.POSITIVE_INFINITY): LabLaw {
  const samples: { atMs: number; concurrency: number }[] = [];
  const recommended: { atMs: number; replicas: number }[] = [];
  return {
    name: `Kubernetes HPA, metric ${metricLagMs / 1_000} s old`,
    everyMs: 15_000,
    wakes: false,
    hardCap: () => hardCap,
    sample: ({ nowMs, load }) => samples.push({ atMs: nowMs, concurrency: load.inFlight + load.queued }),
    decide: ({ nowMs, fleet }) => {
      const pods = fleet.replicas.length;
      const read = samples.findLast((sample) => sample.atMs <= nowMs - metricLagMs);
      const replicas = read === undefined ? pods : hpaRecommendation(pods, read.concurrency / pods, target);
      recommended.push({ atMs: nowMs, replicas });
      const held = recommended.filter((each) => each.atMs > nowMs - 300_000).map((each) => each.replicas);
      return { replicas: replicas >= pods ? replicas : Math.min(pods, Math.max(...held)), reason: "hpa" };
    },
  };
}

/** What Knative's autoscaler carries from tick to tick. */
export interface KpaState {
  readonly panicSinceMs: number | null;
  readonly maxPanicPods: number;
}

/**
 * Knative KPA as a pure function: ceil(average / (target x utilisation)) over 60 s, over 6 s while in panic (from twice
 * ready on, off after 60 s below), never falling in panic, at most 1,000 x and at least half of what is ready, and never to zero here.
 * Source: knative/serving pkg/autoscaler/scaling/autoscaler.go and config/core/configmaps/autoscaler.yaml.
 */
export function kpaDecision(
  state: KpaState,
  nowMs: number,
  ready: number,
  stableMean: number,
  panicMean: number,
  targetPerPod: number,
): { readonly state: KpaState; readonly replicas: number } {
  const clamp = (pods: number) => Math.min(Math.ceil(1_000 * ready), Math.max(1, Math.floor(ready / 2), pods));
  const stable = clamp(Math.ceil(stableMean / targetPerPod));
  const panicking = clamp(Math.ceil(panicMean / targetPerPod));
  const over = Math.ceil(panicMean / targetPerPod) / Math.max(1, ready) >= 2;
  const since = over ? nowMs : state.panicSinceMs;
  if (since === null || nowMs - since > 60_000) {
    return { state: { panicSinceMs: null, maxPanicPods: 0 }, replicas: stable };
  }
  const replicas = Math.max(state.maxPanicPods, stable, panicking);
  return { state: { panicSinceMs: since, maxPanicPods: replicas }, replicas };
}

/** Knative in the lab: scraped each second, ticking each 2 s, target at its 70 % utilisation; `hardCap` is its containerConcurrency. */
export function kpaLaw(target: number, hardCap = Number.POSITIVE_INFINITY): LabLaw {
  const samples: { atMs: number; concurrency: number }[] = [];
  let state: KpaState = { panicSinceMs: null, maxPanicPods: 0 };
  const mean = (nowMs: number, windowMs: number) => {
    const inside = samples.filter((sample) => sample.atMs > nowMs - windowMs);
    return inside.reduce((sum, sample) => sum + sample.concurrency, 0) / Math.max(1, inside.length);
  };
  return {
    name: "Knative KPA",
    everyMs: 2_000,
    wakes: false,
    hardCap: () => hardCap,
    sample: ({ nowMs, load }) => samples.push({ atMs: nowMs, concurrency: load.inFlight + load.queued }),
    decide: ({ nowMs, fleet }: LabView) => {
      const ready = fleet.readyAt(nowMs).length;
      const decision = kpaDecision(state, nowMs, ready, mean(nowMs, 60_000), mean(nowMs, 6_000), target * 0.7);
      state = decision.state;
      return { replicas: decision.replicas, reason: state.panicSinceMs === null ? "stable" : "panic" };
    },
  };
}
