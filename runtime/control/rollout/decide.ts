import { canonicalJson } from "../../core/canonical.ts";
import type { Plain, Verdict } from "../../core/controller.ts";
import { asMonoMs, type Now } from "../../core/time.ts";
import type { VersionId } from "../../domain/names.ts";
import type { RolledVersion, Rollout } from "../../domain/rollout.ts";
import { computeStagingBudgetMs, longerLoads } from "./budget.ts";
import type { RolloutMemory } from "./memory.ts";
import { decideRemoval, drained, enter, failIfOver, rebase, trim } from "./phases.ts";
import { computeTarget, computeWave, type Step } from "./split.ts";
import type { RolloutWorld, VersionFacts } from "./world.ts";

/** The autoscaler decides again within this time of a change of `sizedForWeight`, so that a newer `wanted` counts. */
const SIZED_MS = 1_000;

/**
 * Decides the versions of an endpoint and the split between them. Traffic moves only to versions whose replicas are all
 * ready; a version that fails leaves it untouched, and is tried again once the user changes the spec.
 */
export function decideRollout(world: RolloutWorld, before: RolloutMemory, now: Now): Verdict<RolloutMemory, Rollout> {
  const start = before.start ?? { atMs: now.mono, foundWrittenAtMs: world.previous?.updatedAtMs ?? null };
  const memory = refresh(world, { ...before, start });
  if (world.wish === null) {
    const versions = decideRemoval(world, now.mono);
    return verdict(world, memory, now, { versions, reason: "end: endpoint is deleted" });
  }
  const { deployNumber, traffic, keepVersions } = world.wish;
  const budgetOf = (rolled: RolledVersion) => computeStagingBudgetMs(rolled.version, memory.loadTimes);
  const known = rebase(world.previous, start, budgetOf).map((rolled) =>
    failIfOver(rolled, factsOf(world, rolled.version.id), now.mono),
  );
  const failedUnder = noteFailures(known, memory, deployNumber);
  const named = traffic.kind === "split" ? traffic.parts.map((part) => part.version) : [world.candidate?.id];
  const again = failedUnder.filter(({ id, deployNumber: under }) => under < deployNumber && named.includes(id));
  const retried = known.map((rolled) =>
    again.some(({ id }) => id === rolled.version.id) ? enter(rolled, "kept", now.mono) : rolled,
  );
  const entries = admit(world, retried, now);
  const target = computeTarget(traffic, entries, world.candidate?.id ?? null);
  if (target.kind === "hold") {
    const versions = trim(drained(entries, world, memory.good), keepVersions);
    return verdict(world, { ...memory, failedUnder }, now, { versions, reason: target.why });
  }
  const staged = stage(entries, target.weights, now, budgetOf);
  const sized = noteSizes(staged, memory, now);
  const { versions: moved, reason } = move(staged, target.weights, { ...memory, sized }, world, now);
  const versions = trim(drained(moved, world, memory.good), keepVersions);
  return verdict(world, { ...memory, failedUnder, sized: noteSizes(versions, { ...memory, sized }, now) }, now, {
    versions,
    reason,
  });
}

function refresh(world: RolloutWorld, before: RolloutMemory): RolloutMemory {
  const served = (world.previous?.versions ?? []).filter(({ phase }) => phase === "serving" || phase === "kept");
  const known = new Set(world.versions.map((facts) => facts.id));
  const good = new Set([...before.good, ...served.map((rolled) => rolled.version.id)]);
  return {
    ...before,
    good: [...good].filter((id) => known.has(id)).sort(),
    loadTimes: longerLoads(before.loadTimes, world.loadTimes),
  };
}

function factsOf(world: RolloutWorld, id: VersionId): VersionFacts {
  const nothing = { wanted: null, wantedAtMs: null, granted: null, ready: 0, existing: 0 };
  return world.versions.find((facts) => facts.id === id) ?? { id, ...nothing, crashLooping: false, lastLog: [] };
}

/** A failure counts for the spec it happened under. One whose note was lost with the process counts for the present one. */
function noteFailures(versions: readonly RolledVersion[], memory: RolloutMemory, deployNumber: number) {
  return versions
    .filter((rolled) => rolled.phase === "failed")
    .map(({ version }) => memory.failedUnder.find(({ id }) => id === version.id) ?? { id: version.id, deployNumber });
}

/** The newest prepared version stands first; one not seen before waits as `kept` until the split wants it. */
function admit(world: RolloutWorld, versions: readonly RolledVersion[], now: Now): readonly RolledVersion[] {
  const { candidate } = world;
  if (candidate === null) return versions;
  const known = versions.find((rolled) => rolled.version.id === candidate.id);
  const first: RolledVersion = known ?? {
    version: candidate,
    phase: "kept",
    weight: 0,
    sizedForWeight: 0,
    sinceMs: now.mono,
    giveUpAtMs: null,
    failure: null,
  };
  return [first, ...versions.filter((rolled) => rolled !== known)];
}

/** Versions that shall get traffic start to stage; staging ones that shall not any more are drained. */
function stage(
  versions: readonly RolledVersion[],
  target: ReadonlyMap<VersionId, number>,
  now: Now,
  budgetOf: (rolled: RolledVersion) => number,
): readonly RolledVersion[] {
  return versions.map((rolled) => {
    const to = target.get(rolled.version.id) ?? 0;
    if (to === 0) {
      if (rolled.phase === "serving") return { ...rolled, sizedForWeight: rolled.weight };
      return rolled.phase === "staging" ? enter(rolled, "draining", now.mono) : rolled;
    }
    if (rolled.phase === "serving") return { ...rolled, sizedForWeight: Math.max(rolled.weight, to) };
    if (rolled.phase === "staging") return { ...rolled, sizedForWeight: to };
    const giveUpAtMs = asMonoMs(now.mono + budgetOf(rolled));
    return { ...enter(rolled, "staging", now.mono), sizedForWeight: to, giveUpAtMs };
  });
}

function noteSizes(versions: readonly RolledVersion[], memory: RolloutMemory, now: Now): RolloutMemory["sized"] {
  return versions
    .filter((rolled) => rolled.phase === "staging" || rolled.phase === "serving")
    .map(({ version, sizedForWeight }) => {
      const noted = memory.sized.find(({ id }) => id === version.id);
      if (noted !== undefined && noted.weight === sizedForWeight) return noted;
      return { id: version.id, weight: sizedForWeight, atMs: now.mono };
    });
}

/** Moves traffic when all that shall carry more are ready for it: at once, or in waves where capacity is short. */
function move(
  versions: readonly RolledVersion[],
  target: ReadonlyMap<VersionId, number>,
  memory: RolloutMemory,
  world: RolloutWorld,
  now: Now,
): { readonly versions: readonly RolledVersion[]; readonly reason: string } {
  const toOf = (rolled: RolledVersion) => target.get(rolled.version.id) ?? 0;
  if (versions.every((rolled) => rolled.weight === toOf(rolled)))
    return { versions, reason: world.candidate === null ? "hold: preparing" : "hold: as wanted" };
  const nothingServes = versions.every((rolled) => rolled.weight === 0);
  const growing = versions.filter((rolled) => toOf(rolled) > rolled.weight);
  const shares = new Map(
    growing.map((rolled) => [
      rolled.version.id,
      readyShare(rolled, factsOf(world, rolled.version.id), nothingServes, memory, now),
    ]),
  );
  if ([...shares.values()].some((share) => share === null)) return { versions, reason: "stage: replicas get ready" };
  const steps = versions
    .map((rolled): Step => {
      const { id } = rolled.version;
      return { id, from: rolled.weight, to: toOf(rolled), readyShare: shares.get(id) ?? 1 };
    })
    .filter(({ from, to }) => from > 0 || to > 0);
  const weights = nothingServes ? target : computeWave(steps);
  const reached = versions.map((rolled) => reach(rolled, weights.get(rolled.version.id) ?? 0, toOf(rolled), now));
  const isWhole = reached.every((rolled) => rolled.weight === toOf(rolled));
  return { versions: reached, reason: isWhole ? "move: all replicas ready" : "move: wave, capacity is short" };
}

/** The part of its target that a version's ready replicas carry (1 = all of it), or null while more are still to get ready. */
function readyShare(
  rolled: RolledVersion,
  facts: VersionFacts,
  nothingServes: boolean,
  memory: RolloutMemory,
  now: Now,
): number | null {
  if (nothingServes) return facts.ready >= 1 ? 1 : null;
  const sizedAtMs = memory.sized.find(({ id }) => id === rolled.version.id)?.atMs ?? now.mono;
  const isSized = facts.wantedAtMs !== null && (facts.wantedAtMs > sizedAtMs || now.mono - sizedAtMs >= SIZED_MS);
  if (facts.wanted === null || facts.granted === null || !isSized) return null;
  const least = rolled.phase === "staging" ? 1 : 0;
  const wanted = Math.max(least, facts.wanted);
  if (facts.ready >= wanted) return 1;
  const canGet = Math.max(least, Math.min(wanted, facts.granted));
  return facts.ready >= canGet ? facts.ready / wanted : null;
}

function reach(rolled: RolledVersion, weight: number, to: number, now: Now): RolledVersion {
  if (weight === 0) return rolled.phase === "serving" ? enter(rolled, "draining", now.mono) : rolled;
  const serving = rolled.phase === "serving" ? rolled : enter(rolled, "serving", now.mono);
  return { ...serving, weight, sizedForWeight: Math.max(weight, to) };
}

function verdict(
  world: RolloutWorld,
  memory: RolloutMemory,
  now: Now,
  { versions, reason }: { readonly versions: readonly RolledVersion[]; readonly reason: string },
): Verdict<RolloutMemory, Rollout> {
  const isSame = world.previous !== null && textOf(versions) === textOf(world.previous.versions);
  const updatedAtMs = isSame ? world.previous.updatedAtMs : now.wall;
  const deadlines = versions.flatMap((rolled) => (rolled.giveUpAtMs === null ? [] : [rolled.giveUpAtMs]));
  const sizing = versions.some((rolled) => rolled.sizedForWeight !== rolled.weight) ? [now.mono + SIZED_MS] : [];
  const looks = [...deadlines, ...sizing];
  return {
    memory,
    output: versions.length === 0 ? null : { endpoint: world.endpoint, versions, updatedAtMs },
    because: {
      reason,
      inputs: {
        candidate: world.candidate?.id ?? null,
        serving: versions.filter((rolled) => rolled.phase === "serving").length,
        staging: versions.find((rolled) => rolled.phase === "staging")?.version.id ?? null,
        weights: versions.map((rolled) => `${rolled.version.id}=${rolled.weight}`).join(" "),
      },
    },
    wakeAtMs: looks.length === 0 ? null : asMonoMs(Math.min(...looks)),
  };
}

const textOf = (versions: readonly RolledVersion[]): string => canonicalJson(versions as unknown as Plain);
