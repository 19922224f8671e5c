import type { RegionControl } from "../control/assemble.ts";
import { REGION_KEY } from "../domain/board.ts";
import type { RegionInfo, RegionOperations } from "../operate/api/operations.ts";
import type { LogBook } from "../operate/logs/log-book.ts";
import type { Clock } from "../ports/clock.ts";
import type { DecisionLog } from "../ports/stores.ts";
import { replayRecord } from "./replay.ts";
import type { Shadow } from "./shadows.ts";

/** What the operations of a region stand on. */
export interface OperationParts {
  readonly info: RegionInfo;
  readonly clock: Clock;
  readonly control: RegionControl;
  readonly decisions: DecisionLog;
  readonly logs: LogBook;
  /** Writes the `keys` fact with these keys beside the region file's. */
  readonly applyKeys: RegionOperations["applyKeys"];
  readonly shadows: readonly Shadow[];
}

/** The region as its API sees it, over the Board and its writers. */
export function makeOperations(parts: OperationParts): RegionOperations {
  const { info, clock, control, decisions, logs, applyKeys, shadows } = parts;
  const { board, spec } = control;
  return {
    info,
    clock,
    board,
    decisions,
    decisionCounts: () => control.decisionCounts(),
    logs,
    watch: (observer) => board.subscribe(observer),
    applySpec: (value) => spec.set(value.name, value),
    removeEndpoint: (name) => spec.remove(name),
    redeploy: (name) => {
      const known = board.get("spec", name);
      if (known.kind !== "known") return;
      const { generation, deployNumber } = known.value;
      spec.set(name, { ...known.value, generation: generation + 1, deployNumber: deployNumber + 1 });
    },
    applyKeys,
    shadows: shadows.map(({ name, law }) => ({ name, controller: law.name })),
    replay: (record) => replayRecord(record, shadows),
  };
}

/** The keys on the Board, or none. */
export function keysOf(control: RegionControl): Parameters<RegionOperations["applyKeys"]>[0] {
  const known = control.board.get("keys", REGION_KEY);
  return known.kind === "known" ? known.value.keys : [];
}
