import type { TrafficPolicy } from "../../domain/endpoint.ts";
import type { VersionId } from "../../domain/names.ts";
import type { RolledVersion } from "../../domain/rollout.ts";

/** The split to get to: percents by version, summing to 100; null = leave the weights as they are, for this reason. */
export type Target =
  | { readonly kind: "to"; readonly weights: ReadonlyMap<VersionId, number> }
  | { readonly kind: "hold"; readonly why: string };

/**
 * The split that the user's policy asks for. `versions` are in order, the newest first.
 * A version that failed is no target: the weights then stay.
 */
export function computeTarget(
  traffic: TrafficPolicy,
  versions: readonly RolledVersion[],
  candidate: VersionId | null,
): Target {
  if (traffic.kind === "split") {
    const parts = traffic.parts.filter((part) => part.percent > 0);
    const bad = parts.find((part) => !isUsable(versions, part.version));
    if (bad !== undefined) return { kind: "hold", why: "hold: split names a version that is unknown or failed" };
    return { kind: "to", weights: new Map(parts.map((part) => [part.version, part.percent])) };
  }
  const current = versions.find((rolled) => rolled.phase === "staging" || rolled.phase === "serving");
  const newest = candidate ?? current?.version.id ?? null;
  if (newest === null) return { kind: "hold", why: "hold: no version yet" };
  if (!isUsable(versions, newest)) return { kind: "hold", why: "hold: newest version failed" };
  const predecessor = versions
    .filter((rolled) => rolled.phase === "serving" && rolled.version.id !== newest)
    .toSorted((a, b) => b.weight - a.weight)[0];
  if (traffic.canaryPercent >= 100 || predecessor === undefined)
    return { kind: "to", weights: new Map([[newest, 100]]) };
  const weights = new Map([
    [newest, traffic.canaryPercent],
    [predecessor.version.id, 100 - traffic.canaryPercent],
  ]);
  return { kind: "to", weights };
}

function isUsable(versions: readonly RolledVersion[], id: VersionId): boolean {
  return versions.some((rolled) => rolled.version.id === id && rolled.phase !== "failed");
}

/** One version's place in a move of traffic: `readyShare` is the part of the target it can carry now, 0..1. */
export interface Step {
  readonly id: VersionId;
  readonly from: number;
  readonly to: number;
  readonly readyShare: number;
}

/**
 * Weights after the next wave: who shall grow gets what its ready replicas carry of its target, never less than it has;
 * the others give it up in proportion to what they have to lose. With every share at 1 it is the target.
 * Requires: `from` sums to 100, `to` sums to 100. The result sums to 100.
 */
export function computeWave(steps: readonly Step[]): ReadonlyMap<VersionId, number> {
  const weights = new Map(steps.map((step) => [step.id, step.from]));
  let moved = 0;
  for (const step of steps.filter(({ from, to }) => to > from)) {
    const reached = Math.max(step.from, Math.floor(step.to * Math.min(1, step.readyShare)));
    weights.set(step.id, reached);
    moved += reached - step.from;
  }
  const givers = steps.filter(({ from, to }) => to < from);
  let loss = givers.reduce((sum, { from, to }) => sum + from - to, 0);
  for (const { id, from, to } of givers) {
    const given = loss === 0 ? 0 : Math.round((moved * (from - to)) / loss);
    weights.set(id, from - given);
    moved -= given;
    loss -= from - to;
  }
  return weights;
}
