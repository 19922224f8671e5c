import { canonicalJson } from "../../core/canonical.ts";
import type { BoardView } from "../../domain/board.ts";
import { shadowControllerName } from "../../domain/names.ts";
import type { DecisionLog } from "../../ports/stores.ts";
import { type DecisionQuery, type DecisionRow, decisionRowOf, decisionsOf } from "./decision-view.ts";

/** What a shadow law decided beside what the real one held at that time. */
export interface ShadowRow {
  readonly shadow: DecisionRow;
  /** The real law's decision in force then, or null where the log does not reach back to it. */
  readonly real: DecisionRow | null;
  /** The outputs are not the same. */
  readonly differs: boolean;
}

/**
 * The newest decisions of the law that runs in shadow as `name` beside `controller`, each with the real decision on
 * the same key that was in force: a law logs only changes, so that its last record before a time still holds then.
 */
export function compareShadow(
  log: DecisionLog,
  board: BoardView,
  { name, controller }: { readonly name: string; readonly controller: string },
  query: Omit<DecisionQuery, "controller">,
): ShadowRow[] {
  const rows = decisionsOf(log, board, { ...query, controller: shadowControllerName(controller, name) });
  return rows.map((record) => {
    const [real] = log.list({ controller, key: record.key, beforeId: record.id, limit: 1 });
    return {
      shadow: decisionRowOf(record),
      real: real === undefined ? null : decisionRowOf(real),
      differs: real === undefined || canonicalJson(real.output) !== canonicalJson(record.output),
    };
  });
}
