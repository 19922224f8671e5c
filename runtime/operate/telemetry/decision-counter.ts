import type { DecisionLog } from "../../ports/stores.ts";
import type { DecisionCount } from "./metrics.ts";

/** Decisions read per page of the log. */
const PAGE = 500;
/** Pages read at one scrape at most: 5,000 decisions; a scrape each 15 s then counts over 300 a second. */
const MAX_PAGES = 10;

/** Counts logged decisions by controller and reason, reading at each call what is new in the log. */
export class DecisionCounter {
  readonly #log: DecisionLog;
  readonly #counts = new Map<string, { controller: string; reason: string; count: number }>();
  #seenId: number;

  /** Decisions that are in the log by now are not counted: they are of an earlier life. */
  constructor(log: DecisionLog) {
    this.#log = log;
    this.#seenId = log.list({ limit: 1 })[0]?.id ?? 0;
  }

  counts(): readonly DecisionCount[] {
    let beforeId: number | undefined;
    let newestId = this.#seenId;
    for (let page = 0; page < MAX_PAGES; page++) {
      const records = this.#log.list({ limit: PAGE, ...(beforeId === undefined ? {} : { beforeId }) });
      const fresh = records.filter((record) => record.id > this.#seenId);
      for (const { controller, reason } of fresh) this.#count(controller, reason);
      newestId = Math.max(newestId, fresh[0]?.id ?? 0);
      beforeId = fresh.at(-1)?.id;
      if (fresh.length < PAGE) break;
    }
    this.#seenId = newestId;
    return [...this.#counts.values()];
  }

  #count(controller: string, reason: string): void {
    const key = `${controller}\n${reason}`;
    const row = this.#counts.get(key) ?? { controller, reason, count: 0 };
    row.count += 1;
    this.#counts.set(key, row);
  }
}
