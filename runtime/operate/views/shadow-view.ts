import { canonicalJson } from "../../core/canonical.ts";
import type { DecisionLog } from "../../ports/stores.ts";
import { type DecisionRow, decisionRowOf } from "./decision-view.ts";

/** What a shadow law decided beside what the real one held at that time. */
export interface ShadowRow {
  readonly shadow: DecisionRow;
  /** The real law's decision in force then, or null where the log does not reach back to it. */
  readonly real: DecisionRow | null;
  /** The outputs are not the same. */
  readonly differs: boolean;
}

/**
 * The newest decisions of the law that runs in shadow as `shadow` beside `controller`, each with the real decision on
 * the same key that was in force: a law logs only changes, so that its last record before a time still holds then.
 */
export function compareShadow(
  log: DecisionLog,
  { controller, shadow, key, limit }: { controller: string; shadow: string; key?: string | undefined; limit: number },
): ShadowRow[] {
  const ofKey = key === undefined ? {} : { key };
  const rows = log.list({ controller: `${controller}/shadow:${shadow}`, limit, ...ofKey });
  return rows.map((record) => {
    const [real] = log.list({ controller, key: record.key, beforeId: record.id, limit: 1 });
    return {
      shadow: decisionRowOf(record),
      real: real === undefined ? null : decisionRowOf(real),
      differs: real === undefined || canonicalJson(real.output) !== canonicalJson(record.output),
    };
  });
}
