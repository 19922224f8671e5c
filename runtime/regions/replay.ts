import { autoscaler } from "../control/autoscaler/autoscaler.ts";
import { capacity } from "../control/capacity/controller.ts";
import { fleet } from "../control/fleet/controller.ts";
import { publisherOf } from "../control/publisher/controller.ts";
import { rollout } from "../control/rollout/controller.ts";
import type { Controller } from "../core/controller.ts";
import type { BoardView } from "../domain/board.ts";
import { type Replayed, replayDecision } from "../driver/replay.ts";
import type { DecisionRecord } from "../ports/stores.ts";

type Replay = (record: DecisionRecord) => Replayed | null;

/** The controllers of a region by their names in the decision log. The publisher's incarnation stands in its memory. */
const REPLAYS: Readonly<Record<string, Replay>> = Object.fromEntries([
  replayOf(rollout),
  replayOf(autoscaler),
  replayOf(capacity),
  replayOf(fleet),
  replayOf(publisherOf(0)),
]);

function replayOf<W, M, K, O>(controller: Controller<BoardView, W, M, K, O>): readonly [string, Replay] {
  return [controller.name, (record) => replayDecision(record, controller)];
}

/** Makes a decision of this region again; null when it was not recorded whole or its controller is not known here. */
export function replayRecord(record: DecisionRecord): Replayed | null {
  return REPLAYS[record.controller]?.(record) ?? null;
}
