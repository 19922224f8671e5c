import type { Controller } from "../../core/controller.ts";
import type { BoardView } from "../../domain/board.ts";
import type { Wanted } from "../../domain/replica.ts";
import { decide } from "./decide.ts";
import { DECISION_MS } from "./laws.ts";
import type { Kept, Memory } from "./memory.ts";
import { initMemory, keepMemory } from "./memory.ts";
import { observe } from "./observe.ts";
import type { World } from "./world.ts";

/** Scales each version on both axes: how many replicas, and how many requests in flight each should carry. Writes `wanted`. */
export const autoscaler: Controller<BoardView, World, Memory, Kept, Wanted> = {
  name: "autoscaler",
  scope: "version",
  pace: { everyMs: DECISION_MS, minGapMs: 200 },
  observe,
  init: initMemory,
  keep: keepMemory,
  decide,
};
