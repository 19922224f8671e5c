import type { DecisionRow } from "../../../views/decision-view.ts";

/** Rows held in the browser at most; older ones are asked for again. */
const MAX_ROWS = 2_000;

/** Decisions held, newest first, and whether older ones exist. */
export interface Held {
  readonly rows: readonly DecisionRow[];
  readonly hasOlder: boolean;
}

/** One answer of the decisions route. */
export interface DecisionPage {
  readonly decisions: readonly DecisionRow[];
  readonly nextBeforeId: number | null;
}

/**
 * Adds the newest page. When it does not reach what is held, something between is missing, and what is held is
 * dropped: the list has no holes.
 */
export function addNewest(held: Held | null, page: DecisionPage): Held {
  const hasOlder = page.nextBeforeId !== null;
  const newest = held?.rows[0];
  const oldestOfPage = page.decisions.at(-1);
  if (held === null || newest === undefined || oldestOfPage === undefined) return { rows: page.decisions, hasOlder };
  if (hasOlder && oldestOfPage.id > newest.id) return { rows: page.decisions, hasOlder };
  const fresh = page.decisions.filter(({ id }) => id > newest.id);
  if (fresh.length === 0) return held;
  const rows = [...fresh, ...held.rows];
  return { rows: rows.slice(0, MAX_ROWS), hasOlder: held.hasOlder || rows.length > MAX_ROWS };
}

/** Adds the page after the oldest held. */
export function addOlder(held: Held, page: DecisionPage): Held {
  const oldest = held.rows.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  const older = page.decisions.filter(({ id }) => id < oldest);
  return { rows: [...held.rows, ...older], hasOlder: page.nextBeforeId !== null };
}
