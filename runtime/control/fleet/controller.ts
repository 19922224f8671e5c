import type { Controller } from "../../core/controller.ts";
import type { BoardView } from "../../domain/board.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import { decideFleet } from "./decide.ts";
import { type FleetKept, type FleetMemory, initFleet, keepFleet } from "./memory.ts";
import { type FleetWorld, observeFleet } from "./world.ts";

/** Which replicas of each version exist. Quick, since a wake-up from zero waits for it. */
export const fleet: Controller<BoardView, FleetWorld, FleetMemory, FleetKept, ReplicaSet> = {
  name: "fleet",
  scope: "version",
  pace: { everyMs: 5_000, minGapMs: 20 },
  observe: observeFleet,
  init: initFleet,
  keep: keepFleet,
  decide: decideFleet,
};
