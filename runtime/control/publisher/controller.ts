import type { Controller } from "../../core/controller.ts";
import type { BoardView } from "../../domain/board.ts";
import type { Route } from "../../domain/snapshot.ts";
import { decidePublisher, type PublisherMemory } from "./decide.ts";
import { observePublisher, type PublisherWorld } from "./world.ts";

/** What routers serve each endpoint by. One decision for an endpoint, so that a change costs nothing of the others. */
export const publisher: Controller<BoardView, PublisherWorld, PublisherMemory, null, Route> = {
  name: "publisher",
  scope: "endpoint",
  pace: { everyMs: 10_000, minGapMs: 50 },
  observe: observePublisher,
  init: () => ({ startedAtMs: null, settled: false }),
  keep: () => null,
  decide: decidePublisher,
};
