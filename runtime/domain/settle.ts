import type { HostedReplica, ReplicaReport } from "./replica.ts";

/**
 * Longest time after a restart in which those who act on replicas hold because not all that exists has told of itself:
 * agents and keepers dial again within it.
 */
export const SETTLE_MS = 10_000;

/** Whether a replica runs and its keeper has said nothing of this start of it yet; null where there is no report at all. */
export function isUnheard(
  hosted: Pick<HostedReplica, "state" | "epoch">,
  report: Pick<ReplicaReport, "epoch"> | null,
): boolean {
  return hosted.state === "running" && (report === null || report.epoch < hosted.epoch);
}
