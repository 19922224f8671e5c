import type { BoardView } from "../../domain/board.ts";
import type { DecisionLog, LoggedDecision } from "../../ports/stores.ts";
import { valueOrNull } from "./value-or-null.ts";

/** A decision as people see it: with the time on their clocks alone. */
export type DecisionRow = Omit<LoggedDecision, "atMonoMs">;

/** The row of a logged decision. */
export function decisionRowOf(logged: LoggedDecision): DecisionRow {
  const { id, controller, key, atWallMs, reason, inputs, output, replayable } = logged;
  return { id, controller, key, atWallMs, reason, inputs, output, replayable };
}

/** Which decisions to list: of one endpoint and its versions, of one controller, of one key, older than one. */
export interface DecisionQuery {
  readonly endpoint?: string | undefined;
  readonly controller?: string | undefined;
  readonly key?: string | undefined;
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** The decisions asked for, newest first. Cost: one query of the log per version of the endpoint. */
export function decisionsOf(log: DecisionLog, board: BoardView, query: DecisionQuery): readonly LoggedDecision[] {
  const { endpoint, controller, key, beforeId, limit } = query;
  const bounds = {
    limit,
    ...(controller === undefined ? {} : { controller }),
    ...(beforeId === undefined ? {} : { beforeId }),
  };
  if (endpoint === undefined) return log.list(key === undefined ? bounds : { ...bounds, key });
  const versions = valueOrNull(board.get("rollout", endpoint))?.versions ?? [];
  const keys = [endpoint, ...versions.map(({ version }) => version.id)].filter(
    (one) => key === undefined || one === key,
  );
  const found = keys.flatMap((one) => log.list({ ...bounds, key: one }));
  return found.toSorted((a, b) => b.id - a.id).slice(0, limit);
}
