import { UserError } from "../core/errors.ts";
import type { HostedReplica } from "../domain/replica.ts";

/** Starts that may fail in a row before a service is given up: what a busy machine kills once or twice comes up the third time. */
const MAX_FAILED_STARTS = 3;

/**
 * Why a service of a region that is being started can't start, or null while it may: it told so itself, in the last
 * line it logged, or its starts ended before it was ready, one after the other.
 */
export function serviceFailure(
  name: string,
  { state, failedStarts, lastLog }: Pick<HostedReplica, "state" | "failedStarts" | "lastLog">,
  logsDir: string,
): UserError | null {
  if (failedStarts === 0 || state === "running") return null;
  const told = errorIn(lastLog.at(-1) ?? "");
  if (told !== null || failedStarts < MAX_FAILED_STARTS) return told;
  // The last thing that Node says of an error that ended it is its own version.
  const why = lastLog.findLast((line) => /error/i.test(line)) ?? lastLog.at(-1) ?? "it said nothing";
  return new UserError(
    "PENSTOCK_REGION_NOT_STARTED",
    `The ${name} ended at each of ${failedStarts} starts: ${why.trim()}`,
    `Read ${name}.log in ${logsDir}.`,
  );
}

/** The UserError that a process logs as it ends: its code, why and todo in one line of JSON. */
function errorIn(line: string): UserError | null {
  try {
    const { msg, why, todo } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (typeof msg !== "string" || typeof why !== "string" || typeof todo !== "string") return null;
    return msg.startsWith("PENSTOCK_") ? new UserError(msg as `PENSTOCK_${string}`, why, todo) : null;
  } catch {
    return null;
  }
}
