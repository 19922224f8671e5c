import { KEEPER_SILENT_MS, STARTUP_LEAST_MS, STARTUP_SLACK, STARTUP_UNKNOWN_MS } from "./laws.ts";
import type { Replicas } from "./world.ts";

/** The version's replicas as supply. */
export interface Supply {
  readonly ready: number;
  /** Starting, and within the startup budget: they count as supply, so that nothing winds up while models load. */
  readonly pending: number;
  /** Neither supply nor pending: lost, broken, or past the startup budget. */
  readonly unavailable: number;
  readonly startupBudgetMs: number;
}

/** Sorts replicas into supply. `measuredStartupMs` is the longest start ever measured of this version, or null. */
export function computeSupply(
  replicas: Replicas,
  measuredStartupMs: number | null,
  now: { readonly monoMs: number; readonly wallMs: number },
): Supply {
  const startupBudgetMs =
    measuredStartupMs === null ? STARTUP_UNKNOWN_MS : Math.max(STARTUP_LEAST_MS, measuredStartupMs * STARTUP_SLACK);
  const overdue = replicas.startingSinceMs.filter(
    (sinceMs) => sinceMs !== null && now.wallMs - sinceMs > startupBudgetMs,
  ).length;
  const lost = replicas.heardAtMs.filter((heardMs) => now.monoMs - heardMs > KEEPER_SILENT_MS).length;
  return {
    ready: replicas.ready - lost,
    pending: replicas.startingSinceMs.length - overdue,
    unavailable: lost + overdue + replicas.broken,
    startupBudgetMs,
  };
}
