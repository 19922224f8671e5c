import { agoText } from "../../../../core/format.ts";
import type { ReplicaView } from "../../../views/replica-view.ts";
import type { Progress } from "../live/progress.ts";

/** How its last process ended: `exit 1, 2m 05s ago`, `SIGKILL, 3 s ago`, or `-`. */
export function lastExitText(exit: ReplicaView["lastExit"], nowMs: number): string {
  if (exit === null) return "-";
  return `${exit.signal ?? `exit ${exit.code}`}, ${agoText(exit.atMs, nowMs)}`;
}

/** Age of the last progress seen by this page; `idle` where no request is there to progress, `-` where nobody counts. */
export function progressText(inFlight: number | null, progress: Progress | undefined, nowMs: number): string {
  if (inFlight === null) return "-";
  if (progress !== undefined && progress.movedAtMs !== null) {
    const isFresh = nowMs - progress.movedAtMs < 2_000;
    if (isFresh) return "now";
    return inFlight === 0 ? "idle" : agoText(progress.movedAtMs, nowMs);
  }
  return inFlight === 0 ? "idle" : "none yet";
}
