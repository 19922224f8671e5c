import type { Plain } from "../../runtime/core/controller.ts";
import type { FactName } from "../../runtime/domain/board.ts";
import type { DecisionLog, DecisionRecord, KeptStore, SpecStore } from "../../runtime/ports/stores.ts";

/** Decisions the log in memory holds; the oldest go first. */
const MAX_DECISIONS = 10_000;

/** Stores in memory that hold what real ones would hold on disk: they outlive any number of assembled controls. */
export class MemorySpecStore implements SpecStore {
  readonly #texts = new Map<string, Map<string, string>>();
  #incarnation = 0;

  load(fact: FactName) {
    return [...(this.#texts.get(fact) ?? [])].map(([key, text]) => ({ key, value: JSON.parse(text) as Plain }));
  }

  put(fact: FactName, key: string, value: Plain): void {
    const texts = this.#texts.get(fact) ?? new Map<string, string>();
    this.#texts.set(fact, texts.set(key, JSON.stringify(value)));
  }

  remove(fact: FactName, key: string): void {
    this.#texts.get(fact)?.delete(key);
  }

  nextIncarnation(): number {
    this.#incarnation += 1;
    return this.#incarnation;
  }
}

/** Kept projections in memory. */
export class MemoryKeptStore implements KeptStore {
  readonly #texts = new Map<string, string>();

  get(controller: string, key: string): Plain {
    return JSON.parse(this.#texts.get(`${controller}\n${key}`) ?? "null") as Plain;
  }

  put(controller: string, key: string, kept: Plain): void {
    this.#texts.set(`${controller}\n${key}`, JSON.stringify(kept));
  }

  remove(controller: string, key: string): void {
    this.#texts.delete(`${controller}\n${key}`);
  }
}

/** A decision log in memory. */
export class MemoryDecisionLog implements DecisionLog {
  readonly #rows: { readonly id: number; readonly text: string; readonly controller: string; readonly key: string }[] =
    [];
  #lastId = 0;

  append(record: DecisionRecord): number {
    this.#lastId += 1;
    const { controller, key } = record;
    this.#rows.push({ id: this.#lastId, text: JSON.stringify(record), controller, key });
    if (this.#rows.length > MAX_DECISIONS) this.#rows.shift();
    return this.#lastId;
  }

  list(filter: Parameters<DecisionLog["list"]>[0]) {
    return this.#rows
      .filter(({ id }) => filter.beforeId === undefined || id < filter.beforeId)
      .filter(({ controller }) => filter.controller === undefined || controller === filter.controller)
      .filter(({ key }) => filter.key === undefined || key === filter.key)
      .toReversed()
      .slice(0, filter.limit)
      .map(decoded)
      .map(({ replay, ...record }) => ({ ...record, replayable: replay !== null }));
  }

  /** All that is logged, oldest first, with the worlds. */
  whole(): readonly DecisionRecord[] {
    return this.#rows.map(decoded);
  }

  get(id: number) {
    const row = this.#rows.find((candidate) => candidate.id === id);
    return row === undefined ? null : decoded(row);
  }
}

function decoded({
  id,
  text,
}: {
  readonly id: number;
  readonly text: string;
}): DecisionRecord & { readonly id: number } {
  return { ...(JSON.parse(text) as DecisionRecord), id };
}
