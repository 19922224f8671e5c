import { shadowControllerName } from "../domain/names.ts";
import { type Replayed, replayDecision } from "../driver/replay.ts";
import type { DecisionRecord } from "../ports/stores.ts";
import { LIVE_LAWS } from "./laws.ts";
import type { Shadow } from "./shadows.ts";

/** Makes a decision of this region again; null when it was not recorded whole or its controller is not known here. */
export function replayRecord(record: DecisionRecord, shadows: readonly Shadow[]): Replayed | null {
  const shadow = shadows.find(({ name, law }) => shadowControllerName(law.name, name) === record.controller);
  const law = shadow?.law ?? LIVE_LAWS.get(record.controller);
  return law === undefined ? null : replayDecision(record, law);
}
