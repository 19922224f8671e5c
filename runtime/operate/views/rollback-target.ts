import type { RolledVersion, Rollout } from "../../domain/rollout.ts";

const PREFERENCE = ["serving", "draining", "kept"] as const;

/**
 * The version a rollback goes to when none is named: of those that have served, not the one that carries (or is about
 * to carry) most traffic; a still serving one first, then a draining one, then the one that left service last.
 * Null when there is none.
 */
export function rollbackTarget(rollout: Rollout): RolledVersion | null {
  const current =
    rollout.versions.find(({ phase }) => phase === "staging") ??
    rollout.versions
      .toSorted((a, b) => newestFirst(a, b) || b.weight - a.weight)
      .find(({ phase }) => phase === "serving");
  const candidates = rollout.versions.filter((rolled) => rolled !== current);
  for (const phase of PREFERENCE) {
    const [best] = candidates
      .filter((rolled) => rolled.phase === phase)
      .toSorted((a, b) => b.weight - a.weight || b.sinceMs - a.sinceMs || newestFirst(a, b));
    if (best !== undefined) return best;
  }
  return null;
}

function newestFirst(a: RolledVersion, b: RolledVersion): number {
  return b.sinceMs - a.sinceMs || b.version.createdAtMs - a.version.createdAtMs;
}
