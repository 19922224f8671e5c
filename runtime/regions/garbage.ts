import type { BoardView } from "../domain/board.ts";
import type { Version } from "../domain/version.ts";
import { collectGarbage, type GarbagePlaces } from "../node/garbage/collect.ts";
import type { Log } from "../ports/log.ts";

const FIRST_MS = 10 * 60_000;
const EVERY_MS = 60 * 60_000;

/** Collects the region's garbage ten minutes after the start and each hour; a failure is logged and tried again then. Returns how to end it. */
export function startGarbageCollection(board: BoardView, places: GarbagePlaces, log: Log): () => void {
  let cancel = places.clock.after(FIRST_MS, run);
  let isOver = false;
  function run(): void {
    collectGarbage(versionsOf(board), places)
      .then((removed) => {
        if (removed.length > 0) log.info("GARBAGE_REMOVED", { count: removed.length, paths: removed.join(" ") });
      })
      .catch((error: unknown) => log.warn("GARBAGE_NOT_REMOVED", { why: String(error) }))
      .finally(() => {
        if (!isOver) cancel = places.clock.after(EVERY_MS, run);
      });
  }
  return () => {
    isOver = true;
    cancel();
  };
}

/** Every version that something in the region refers to. */
export function versionsOf(board: BoardView): readonly Version[] {
  const known = <F extends "prepared" | "rollout" | "replicaSet">(fact: F) =>
    board.keys(fact).flatMap((key) => {
      const found = board.get(fact, key);
      return found.kind === "known" ? [found.value] : [];
    });
  return [
    ...known("rollout").flatMap(({ versions }) => versions.map(({ version }) => version)),
    ...known("replicaSet").map(({ version }) => version),
    ...known("prepared").flatMap(({ state }) => (state.kind === "ready" ? [state.version] : [])),
  ];
}
