import type { Controller } from "../../core/controller.ts";
import type { BoardView } from "../../domain/board.ts";
import type { Rollout } from "../../domain/rollout.ts";
import { decideRollout } from "./decide.ts";
import { initRollout, keepRollout, type RolloutKept, type RolloutMemory } from "./memory.ts";
import { observeRollout, type RolloutWorld } from "./world.ts";

/** The versions of each endpoint and the split between them. */
export const rollout: Controller<BoardView, RolloutWorld, RolloutMemory, RolloutKept, Rollout> = {
  name: "rollout",
  scope: "endpoint",
  pace: { everyMs: 5_000, minGapMs: 50 },
  observe: observeRollout,
  init: initRollout,
  keep: keepRollout,
  decide: decideRollout,
};
