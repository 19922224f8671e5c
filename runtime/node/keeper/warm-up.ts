import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../../core/errors.ts";
import type { ProbeRequest } from "../../serving/contract.ts";
import { computeKnee, computeServiceMs, isWarm, nextProbeConcurrency, type ProbeStep } from "./plan.ts";
import type { ProbeClient } from "./probe-client.ts";

/** One warm-up inference may take this long: the first one of a large model compiles and pages in. */
const WARMUP_TIMEOUT_MS = 300_000;
/** Failures of an input that must work, in a row, before the replica is given up. */
const WARMUP_ATTEMPTS = 3;
/** The onboarding probe as a whole: traffic that comes soon finds its target found. */
const PROBE_BUDGET_MS = 2_000;
/** One step: long against a time slice of the scheduler (a few ms) and against a collection of the model's or our garbage. */
const PROBE_STEP_MS = 250;
/** How often a sender looks whether the clients for whom it made way have their answers. */
const MAKE_WAY_MS = 5;
/** A step in which senders made way for longer than this share of it says nothing of the knee. */
const MADE_WAY_SHARE = 0.1;
/** Most senders of the probe; the autoscaler learns what lies above. */
const PROBE_LIMIT = 64;

/** Unloaded service time by request class, in ms. */
export type ServiceTimes = Readonly<Record<string, number>>;

/**
 * Sends each class's warm-up until it stops getting faster.
 * Errors: UserError where an input that must work keeps failing.
 */
export async function warmUp(client: ProbeClient, warmUps: readonly ProbeRequest[]): Promise<ServiceTimes> {
  const times: Record<string, number> = {};
  for (const probe of warmUps) {
    const durationsMs: number[] = [];
    for (let failures = 0; !isWarm(durationsMs); ) {
      const outcome = await client.send(probe, WARMUP_TIMEOUT_MS);
      if (outcome.status < 400) durationsMs.push(outcome.durationMs);
      else if (probe.madeUp) break;
      else if (++failures === WARMUP_ATTEMPTS) {
        throw new UserError(
          "PENSTOCK_WARMUP_FAILED",
          `the model refuses its own input example with ${outcome.status}: ${outcome.excerpt}`,
          "run the model on its input example yourself, correct whichever of the two is wrong and deploy again; without an example the model is warmed up with made-up input",
        );
      }
    }
    if (durationsMs.length > 0) times[probe.requestClass] = computeServiceMs(durationsMs);
  }
  return times;
}

/** What the onboarding probe knows of the replica, which takes clients' requests meanwhile. */
export interface ProbedReplica {
  /** Unloaded service time. */
  readonly serviceMs: number;
  /** Most requests it takes at once, or null. */
  readonly limit: number | null;
  /** Requests in flight that are not the keeper's own. */
  clientsInFlight(): number;
  /** False: the replica drains or is stuck, and the probe ends. */
  mayGoOn(): boolean;
}

/**
 * Finds the knee with short closed-loop steps of 1, 2, 4, ... senders, within PROBE_BUDGET_MS. No sender begins a request
 * while a client's is in flight, and a step with many of those ends the probe.
 * Null where the model is too slow or too busy for the knee to be seen in that time, or refuses the input.
 */
export async function probeConcurrency(
  client: ProbeClient,
  probe: ProbeRequest,
  replica: ProbedReplica,
): Promise<number | null> {
  const { serviceMs, limit } = replica;
  const endMs = performance.now() + PROBE_BUDGET_MS;
  const most = Math.min(limit ?? PROBE_LIMIT, PROBE_LIMIT);
  const steps: ProbeStep[] = [];
  for (;;) {
    const concurrency = nextProbeConcurrency(steps, most);
    // At worst the model works one request after the other, so that a step takes as many service times as senders.
    const longestMs = Math.max(PROBE_STEP_MS, serviceMs * (concurrency ?? 0));
    if (concurrency === null || performance.now() + longestMs > endMs) return computeKnee(steps, most);
    const step = await runStep(client, probe, replica, concurrency);
    if (step === null) return computeKnee(steps, most);
    steps.push(step);
  }
}

async function runStep(
  client: ProbeClient,
  probe: ProbeRequest,
  replica: ProbedReplica,
  concurrency: number,
): Promise<ProbeStep | null> {
  const startedMs = performance.now();
  let completed = 0;
  let failed = false;
  let madeWayMs = 0;
  const sender = async (): Promise<void> => {
    let ownWayMs = 0;
    while (!failed && performance.now() - startedMs < PROBE_STEP_MS) {
      if (!replica.mayGoOn()) failed = true;
      else if (replica.clientsInFlight() > 0) {
        await sleep(MAKE_WAY_MS);
        ownWayMs += MAKE_WAY_MS;
      } else if (await isAnswered(client, probe)) completed++;
      else failed = true;
    }
    madeWayMs = Math.max(madeWayMs, ownWayMs);
  };
  await Promise.all(Array.from({ length: concurrency }, sender));
  if (failed || madeWayMs > PROBE_STEP_MS * MADE_WAY_SHARE) return null;
  return { concurrency, ratePerSecond: (completed * 1000) / (performance.now() - startedMs) };
}

/** Whether a probe was answered well. A lost connection is none: the replica drains, or its judge sees to it. */
function isAnswered(client: ProbeClient, probe: ProbeRequest): Promise<boolean> {
  return client.send(probe, WARMUP_TIMEOUT_MS).then(
    ({ status }) => status < 400,
    () => false,
  );
}
