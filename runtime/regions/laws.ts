import { autoscaler } from "../control/autoscaler/autoscaler.ts";
import { capacity } from "../control/capacity/controller.ts";
import { fleet } from "../control/fleet/controller.ts";
import { publisher } from "../control/publisher/controller.ts";
import { rollout } from "../control/rollout/controller.ts";
import type { Controller } from "../core/controller.ts";
import type { BoardView } from "../domain/board.ts";

/** A controller with its types hidden: what one reads and writes is known to itself alone. */
export type Law = Controller<BoardView, unknown, unknown, unknown, unknown>;

/** The live controllers of a region by their names in the decision log. */
export const LIVE_LAWS: ReadonlyMap<string, Law> = new Map(
  ([rollout, autoscaler, capacity, fleet, publisher] as readonly Law[]).map((law) => [law.name, law]),
);
