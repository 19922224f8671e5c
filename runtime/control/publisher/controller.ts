import type { Controller } from "../../core/controller.ts";
import type { BoardView } from "../../domain/board.ts";
import type { Snapshot } from "../../domain/snapshot.ts";
import { decidePublisher, type PublisherMemory } from "./decide.ts";
import { observePublisher, type PublisherWorld } from "./world.ts";

/** What routers serve by. `incarnation` orders its snapshots over restarts of the controller. */
export function publisherOf(
  incarnation: number,
): Controller<BoardView, PublisherWorld, PublisherMemory, null, Snapshot> {
  return {
    name: "publisher",
    scope: "region",
    pace: { everyMs: 10_000, minGapMs: 50 },
    observe: observePublisher,
    init: () => ({ incarnation, startedAtMs: null, settled: false, last: null }),
    keep: () => null,
    decide: decidePublisher,
  };
}
