import type { Demand } from "./demand.ts";
import { DOWN_STEP_SHARE, DOWN_WINDOW_MS, FAST_LANE_RATIO, TOLERANCE_RATIO, UP_STEP_FACTOR } from "./laws.ts";
import type { Supply } from "./supply.ts";

/** All that the horizontal law reads. */
export interface HorizontalInput {
  /** What was wanted at the last decision, and at the start of this period. */
  readonly wanted: number;
  readonly anchor: number;
  readonly target: number;
  readonly demand: Demand;
  /** Requests that want to be in flight at once, judged from the gauges of this moment: for the wake at zero. */
  readonly wakeDemand: number;
  readonly supply: Supply;
  readonly bounds: { readonly min: number; readonly max: number };
  /** Replicas that other signals ask for by the ratio law; 0 = none. */
  readonly cpuReplicas: number;
  /** How long the down window has been watched, and how long nothing has come. */
  readonly watchedMs: number;
  readonly idleMs: number;
  /** Null while the spec is missing. */
  readonly sleepAfterMs: number | null;
  readonly maySleep: boolean;
  /** Requests wait or CPU is full: what is in flight says too little. */
  readonly saturated: boolean;
}

/** How many replicas, and why. `replicas` is what demand asks for; what is lost is made up for on top of it. */
export interface Step {
  readonly replicas: number;
  readonly reason: string;
}

/** Replicas to want beyond the step, for those that are neither supply nor pending: at most once over, within the bounds. */
export function madeUpReplicas(step: Step, input: HorizontalInput): number {
  // A version none of whose replicas ever serves is broken, and more of it would be too: the rollout's business.
  if (input.supply.ready <= 0) return 0;
  return Math.max(0, Math.min(input.supply.unavailable, step.replicas, input.bounds.max - step.replicas));
}

/**
 * The horizontal law: wanted = ceil(demand / target), fast up and careful down. Bounds hold whatever the demand.
 */
export function decideHorizontal(input: HorizontalInput): Step {
  return clampStep(chooseStep(input), input.bounds);
}

function clampStep(step: Step, bounds: HorizontalInput["bounds"]): Step {
  if (step.replicas < bounds.min) return { replicas: bounds.min, reason: "scale: minimum" };
  if (step.replicas > bounds.max) return { replicas: bounds.max, reason: "scale: at-maximum" };
  return step;
}

function chooseStep(input: HorizontalInput): Step {
  const { wanted, demand } = input;
  if (demand.seen === "missing") return { replicas: wanted, reason: "hold: missing-load" };
  if (wanted === 0) return wakeStep(input);
  return upStep(input) ?? downStep(input);
}

function wakeStep(input: HorizontalInput): Step {
  const { wakeDemand, target, demand, idleMs, sleepAfterMs } = input;
  // The windows may still hold what was answered before it fell asleep.
  const cameSince = sleepAfterMs === null || idleMs < sleepAfterMs;
  const asked = cameSince ? Math.max(wakeDemand, demand.meanFast) : 0;
  if (asked <= 0) return { replicas: 0, reason: "hold: asleep" };
  return { replicas: Math.ceil(asked / target), reason: "scale: wake" };
}

function upStep(input: HorizontalInput): Step | null {
  const { demand, target } = input;
  const fast = demand.meanFast > FAST_LANE_RATIO * input.wanted * target;
  const asked = fast ? Math.max(demand.meanFast, demand.meanUp) : demand.meanUp;
  const byDemand = asked > input.wanted * target * (1 + TOLERANCE_RATIO) ? Math.ceil(asked / target) : 0;
  const need = Math.max(byDemand, input.cpuReplicas);
  if (need <= input.wanted) return null;
  const allowed = Math.max(input.anchor * UP_STEP_FACTOR, input.wanted);
  if (need > allowed) return { replicas: allowed, reason: fast ? "scale: fast-lane-capped" : "scale: up-capped" };
  if (byDemand < input.cpuReplicas) return { replicas: need, reason: "scale: cpu" };
  return { replicas: need, reason: fast ? "scale: fast-lane" : "scale: up" };
}

/**
 * A step of n is checked at N - n: what remains must carry the window's peak with the tolerance to spare, so that the
 * way up does not open again at the same load.
 */
function downStep(input: HorizontalInput): Step {
  const { wanted, anchor, demand, target } = input;
  const hold = (reason: string): Step => ({ replicas: wanted, reason });
  const carries = Math.ceil(Math.max(demand.peak, demand.meanUp) / (target * (1 - TOLERANCE_RATIO)));
  const need = Math.max(1, carries, Math.min(wanted, input.cpuReplicas));
  if (need >= wanted) {
    if (wanted === 1) return sleepStep(input);
    const lower = demand.meanUp < wanted * target * (1 - TOLERANCE_RATIO);
    return hold(lower ? "hold: peak-in-window" : "hold: within-tolerance");
  }
  if (demand.seen === "partial") return hold("hold: silent-router");
  if (input.watchedMs < DOWN_WINDOW_MS) return hold("hold: window-not-seen");
  if (input.saturated) return hold("hold: saturated");
  const lowest = anchor - Math.max(1, Math.floor(anchor * DOWN_STEP_SHARE));
  if (lowest >= wanted) return hold("hold: step-taken");
  return need < lowest ? { replicas: lowest, reason: "scale: down-capped" } : { replicas: need, reason: "scale: down" };
}

/** From one replica to none has its own rule: nothing came for the idle window, and nothing is unclear. */
function sleepStep(input: HorizontalInput): Step {
  const hold = (reason: string): Step => ({ replicas: 1, reason });
  const { sleepAfterMs } = input;
  if (sleepAfterMs === null || input.idleMs < sleepAfterMs) return hold("hold: within-tolerance");
  if (input.bounds.min > 0) return hold("hold: minimum");
  if (input.demand.seen !== "whole") return hold("hold: silent-router");
  if (input.watchedMs < sleepAfterMs) return hold("hold: window-not-seen");
  if (!input.maySleep) return hold("hold: not-ready-yet");
  return { replicas: 0, reason: "scale: sleep" };
}
