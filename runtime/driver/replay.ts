import { canonicalJson } from "../core/canonical.ts";
import type { Because, Controller, Plain } from "../core/controller.ts";
import { asMonoMs } from "../core/time.ts";
import type { BoardView } from "../domain/board.ts";
import type { DecisionRecord } from "../ports/stores.ts";

/** A decision made again from its record. */
export interface Replayed {
  readonly output: Plain;
  readonly because: Because;
  /** Output and reason are equal to the recorded ones, bit for bit. */
  readonly same: boolean;
}

/**
 * Makes a recorded decision again, with its own world, memory and time, or null where the record does not hold them.
 * With another controller of the same world and memory it shows what that one would have done.
 */
export function replayDecision<W, M, K, O>(
  record: DecisionRecord,
  controller: Controller<BoardView, W, M, K, O>,
): Replayed | null {
  if (record.replay === null) return null;
  const verdict = controller.decide(record.replay.world as W, record.replay.memory as M, {
    mono: asMonoMs(record.atMonoMs),
    wall: record.atWallMs,
  });
  const output = verdict.output as Plain;
  return {
    output,
    because: verdict.because,
    same: canonicalJson(output) === canonicalJson(record.output) && verdict.because.reason === record.reason,
  };
}
