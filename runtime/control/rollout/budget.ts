import type { LoadTime } from "../../domain/rollout.ts";
import type { Version } from "../../domain/version.ts";

/** A start may take this many times the longest one measured before it is given up. */
const LOADS = 3;
/** Bounds of the budget: a machine under load starts nothing reliably below one; above the other nobody waits. */
const MIN_MS = 60_000;
const MAX_MS = 1_800_000;
/** Where nothing comparable was measured: a 10 GB file read at 50 MB/s takes 200 s, three times that. */
const DEFAULT_MS = 600_000;
/** A measured load says something about artifacts up to this many times larger; beyond it, other things bound the load. */
const COMPARABLE_SIZE_RATIO = 10;

/** How long a version may stage before it is given up, from the longest measured load of its runtime, scaled to its size. */
export function computeStagingBudgetMs(version: Version, measured: readonly LoadTime[]): number {
  const load = measured.find((candidate) => candidate.runtime === version.runtime);
  if (load === undefined) return DEFAULT_MS;
  const sizeRatio = Math.max(1, version.artifact.sizeBytes / Math.max(1, load.sizeBytes));
  if (sizeRatio > COMPARABLE_SIZE_RATIO) return DEFAULT_MS;
  return Math.min(MAX_MS, Math.max(MIN_MS, LOADS * load.startupMs * sizeRatio));
}

/** The longer load of each runtime. */
export function longerLoads(a: readonly LoadTime[], b: readonly LoadTime[]): readonly LoadTime[] {
  const longest = new Map(a.map((load) => [load.runtime, load]));
  for (const load of b) {
    if (load.startupMs > (longest.get(load.runtime)?.startupMs ?? 0)) longest.set(load.runtime, load);
  }
  return [...longest.values()].sort((x, y) => (x.runtime < y.runtime ? -1 : 1));
}
