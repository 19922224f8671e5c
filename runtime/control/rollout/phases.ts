import { asMonoMs, type MonoMs } from "../../core/time.ts";
import type { RolledVersion, Rollout, VersionPhase } from "../../domain/rollout.ts";
import type { Start } from "./memory.ts";
import type { RolloutWorld, VersionFacts } from "./world.ts";

/** Puts a version into a phase, with the weight, size and deadline of its start. */
export function enter(rolled: RolledVersion, phase: VersionPhase, nowMs: MonoMs): RolledVersion {
  return { ...rolled, phase, weight: 0, sizedForWeight: 0, sinceMs: nowMs, giveUpAtMs: null, failure: null };
}

/**
 * The versions of the last fact with times of this process's clock: the fact that it found at its start holds times of
 * another clock, so its phases count as entered then and its deadlines run anew.
 */
export function rebase(
  previous: Rollout | null,
  start: Start,
  budgetOf: (rolled: RolledVersion) => number,
): readonly RolledVersion[] {
  if (previous === null) return [];
  if (previous.updatedAtMs !== start.foundWrittenAtMs) return previous.versions;
  return previous.versions.map((rolled) => ({
    ...rolled,
    sinceMs: start.atMs,
    giveUpAtMs: rolled.giveUpAtMs === null ? null : asMonoMs(start.atMs + budgetOf(rolled)),
  }));
}

/** Gives a staging version up when it crash-loops with none ready, or when its budget is over. */
export function failIfOver(rolled: RolledVersion, facts: VersionFacts, nowMs: MonoMs): RolledVersion {
  if (rolled.phase !== "staging" || rolled.giveUpAtMs === null) return rolled;
  const crashes = facts.crashLooping && facts.ready === 0;
  if (!crashes && nowMs < rolled.giveUpAtMs) return rolled;
  const failure = { why: crashes ? "its replica ends again and again" : whyLate(facts), lastLog: facts.lastLog };
  return { ...enter(rolled, "failed", nowMs), failure };
}

function whyLate(facts: VersionFacts): string {
  if (facts.granted === 0) return "the machine has no capacity left for a replica of it";
  const wanted = Math.max(1, Math.min(facts.wanted ?? 1, facts.granted ?? 1));
  return `${facts.ready} of ${wanted} replicas got ready within its start budget`;
}

/** Draining versions whose replicas are gone are kept if they ever served, and dropped if not. */
export function drained(
  versions: readonly RolledVersion[],
  world: RolloutWorld,
  good: readonly string[],
): readonly RolledVersion[] {
  return versions.flatMap((rolled) => {
    if (rolled.phase !== "draining" || !hasEnded(world, rolled)) return [rolled];
    return good.includes(rolled.version.id) ? [{ ...rolled, phase: "kept" as const }] : [];
  });
}

/** Keeps the newest `keepVersions` kept versions and the newest failed one. The order is newest first. */
export function trim(versions: readonly RolledVersion[], keepVersions: number): readonly RolledVersion[] {
  const rooms = new Map<VersionPhase, number>([
    ["kept", keepVersions],
    ["failed", 1],
  ]);
  return versions.filter((rolled) => {
    const room = rooms.get(rolled.phase);
    if (room === undefined) return true;
    rooms.set(rolled.phase, room - 1);
    return room > 0;
  });
}

/** The endpoint is deleted: what serves or stages drains, what has no replicas goes. */
export function decideRemoval(world: RolloutWorld, nowMs: MonoMs): readonly RolledVersion[] {
  const draining = (world.previous?.versions ?? []).map((rolled) =>
    rolled.phase === "serving" || rolled.phase === "staging" ? enter(rolled, "draining", nowMs) : rolled,
  );
  return draining.filter((rolled) => rolled.phase === "draining" && !hasEnded(world, rolled));
}

function hasEnded(world: RolloutWorld, rolled: RolledVersion): boolean {
  const facts = world.versions.find(({ id }) => id === rolled.version.id);
  return world.hostKnown && (facts?.existing ?? 0) === 0;
}
