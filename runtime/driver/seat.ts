import { assert } from "../core/assert.ts";
import { canonicalJson } from "../core/canonical.ts";
import type { Controller, Plain, Scope } from "../core/controller.ts";
import type { MonoMs, Now } from "../core/time.ts";
import type { BoardView, FactName } from "../domain/board.ts";
import type { DecisionRecord } from "../ports/stores.ts";
import { requirePlain } from "./plain.ts";

/** A controller with all that the driver must know to run it. */
export interface Registration<W, M, K, O> {
  readonly controller: Controller<BoardView, W, M, K, O>;
  /** Facts whose change makes the keys they touch dirty. */
  readonly listens: readonly FactName[];
  /** Writes the output on the Board; null removes the fact. */
  publish(key: string, output: O | null): void;
}

/** One key of one controller: its memory and its last decision. */
export interface Entry {
  readonly seat: Seat;
  readonly key: string;
  readonly rank: number;
  /** What its memory is opened from, in its first turn. */
  readonly kept: Plain;
  /** Null before the first turn. */
  memory: { readonly value: unknown } | null;
  lastAtMs: MonoMs | null;
  failuresInRow: number;
  reason: string | null;
  outputText: string | null;
  keptText: string | null;
}

/** What one turn of a key came to. */
export interface Turn {
  readonly wakeAtMs: MonoMs | null;
  readonly outputIsNull: boolean;
  readonly reason: string;
  /** Set where reason or output differ from the key's decision before. */
  readonly record: DecisionRecord | null;
  readonly kept: Plain;
}

/** A registered controller with its types hidden, so that the driver can hold all of them in one list. */
export interface Seat {
  readonly name: string;
  readonly scope: Scope;
  readonly everyMs: number;
  readonly minGapMs: number;
  readonly listens: readonly FactName[];
  readonly entries: Map<string, Entry>;
  /** Observes, decides, publishes. Errors: whatever the controller throws; the entry is then unchanged. */
  turn(entry: Entry, board: BoardView, now: Now): Turn;
}

/** Hides the types of a registration behind a Seat called `name`. */
export function seatOf<W, M, K, O>(name: string, registration: Registration<W, M, K, O>): Seat {
  const { controller, listens, publish } = registration;
  return {
    name,
    scope: controller.scope,
    everyMs: controller.pace.everyMs,
    minGapMs: controller.pace.minGapMs,
    listens,
    entries: new Map(),
    turn: (entry, board, now) => {
      const world = controller.observe(board, entry.key);
      const memory = entry.memory === null ? controller.init(entry.kept as K | null) : (entry.memory.value as M);
      const verdict = controller.decide(world, memory, now);
      const { wakeAtMs } = verdict;
      assert(wakeAtMs === null || Number.isFinite(wakeAtMs), `${name} asks to be woken at ${wakeAtMs}`);
      const output = verdict.output as Plain;
      const outputText = canonicalJson(output);
      const changed = entry.reason !== verdict.because.reason || entry.outputText !== outputText;
      const record = changed
        ? {
            controller: name,
            key: entry.key,
            atWallMs: now.wall,
            atMonoMs: now.mono,
            reason: verdict.because.reason,
            inputs: verdict.because.inputs,
            output: requirePlain(output, `${name}.output`),
            replay: { world: requirePlain(world, `${name}.world`), memory: requirePlain(memory, `${name}.memory`) },
          }
        : null;
      const kept = requirePlain(controller.keep(verdict.memory), `${name}.kept`);
      publish(entry.key, verdict.output);
      entry.memory = { value: verdict.memory };
      entry.reason = verdict.because.reason;
      entry.outputText = outputText;
      return {
        wakeAtMs,
        outputIsNull: verdict.output === null,
        reason: verdict.because.reason,
        record,
        kept,
      };
    },
  };
}
