import type { DecisionRow } from "../../../views/decision-view.ts";

/** Decides on the same fact in the same turn; its decision is written within this time of the live one's. */
const SAME_TURN_MS = 1_500;

/** A controller's name taken apart: `autoscaler/shadow:new-law` decides beside `autoscaler` and writes nothing. */
export function controllerParts(name: string): { readonly live: string; readonly shadow: string | null } {
  const [live = name, shadow] = name.split("/shadow:");
  return { live, shadow: shadow ?? null };
}

/** What a shadow would have done where a live decision stands. */
export interface ShadowWord {
  readonly shadow: string;
  readonly decision: DecisionRow;
  /** Its output is the live one's. */
  readonly agrees: boolean;
}

/**
 * The shadows of a live decision: of each shadow of its controller, the decision on the same key that was in force
 * then, which is the newest one not after it (a decision is logged only when it changes).
 */
export function shadowsOf(live: DecisionRow, rows: readonly DecisionRow[]): readonly ShadowWord[] {
  const found = new Map<string, DecisionRow>();
  for (const row of rows) {
    const { live: controller, shadow } = controllerParts(row.controller);
    if (shadow === null || controller !== live.controller || row.key !== live.key) continue;
    if (row.atWallMs > live.atWallMs + SAME_TURN_MS) continue;
    const best = found.get(shadow);
    if (best === undefined || row.id > best.id) found.set(shadow, row);
  }
  const output = JSON.stringify(live.output);
  return [...found].map(([shadow, decision]) => ({
    shadow,
    decision,
    agrees: JSON.stringify(decision.output) === output,
  }));
}
