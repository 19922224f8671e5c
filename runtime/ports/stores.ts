import type { Plain } from "../core/controller.ts";
import type { WallMs } from "../core/time.ts";
import type { FactName } from "../domain/board.ts";

/** Facts that outlive the controller: specs, keys, prepared versions, rollouts. A write is on disk when `put` returns. */
export interface SpecStore {
  load(fact: FactName): readonly { readonly key: string; readonly value: Plain }[];
  put(fact: FactName, key: string, value: Plain): void;
  remove(fact: FactName, key: string): void;
  /** A number larger than any it returned before, over all restarts. */
  nextIncarnation(): number;
}

/** Kept projections of controllers' memories (learned targets, cool-downs). */
export interface KeptStore {
  get(controller: string, key: string): Plain;
  put(controller: string, key: string, kept: Plain): void;
  remove(controller: string, key: string): void;
}

/** One decision, with all that is needed to make it again bit for bit. */
export interface DecisionRecord {
  readonly controller: string;
  readonly key: string;
  readonly atWallMs: WallMs;
  readonly atMonoMs: number;
  readonly reason: string;
  readonly inputs: Readonly<Record<string, number | string | boolean | null>>;
  readonly output: Plain;
  /** Present when the decision is recorded whole. */
  readonly replay: { readonly world: Plain; readonly memory: Plain } | null;
}

/** A decision as the log lists it: without the world it was made in. */
export type LoggedDecision = Omit<DecisionRecord, "replay"> & {
  readonly id: number;
  /** It was recorded whole and can be made again. */
  readonly replayable: boolean;
};

/** The decision log: newest first, bounded; a decision is logged when its reason or output changes. */
export interface DecisionLog {
  append(record: DecisionRecord): number;
  list(filter: {
    readonly controller?: string;
    readonly key?: string;
    readonly beforeId?: number;
    readonly limit: number;
  }): readonly LoggedDecision[];
  get(id: number): (DecisionRecord & { readonly id: number }) | null;
}
