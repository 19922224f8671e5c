import type { Controller } from "../../core/controller.ts";
import type { BoardView } from "../../domain/board.ts";
import { type CapacityMemory, decideCapacity, type Grants } from "./decide.ts";
import { type CapacityWorld, observeCapacity } from "./world.ts";

/** How many replicas each version may have. One decision for the region, so that the grants of one moment fit together. */
export const capacity: Controller<BoardView, CapacityWorld, CapacityMemory, CapacityMemory, Grants> = {
  name: "capacity",
  scope: "region",
  pace: { everyMs: 5_000, minGapMs: 20 },
  observe: observeCapacity,
  init: (kept) => kept ?? { measured: {} },
  keep: (memory) => memory,
  decide: decideCapacity,
};
