import { UserError } from "../../core/errors.ts";
import type { ProbeRequest } from "../../serving/contract.ts";
import { computeKnee, computeServiceMs, isWarm, nextProbeConcurrency, type ProbeStep } from "./plan.ts";
import type { ProbeClient } from "./probe-client.ts";

/** One warm-up inference may take this long: the first one of a large model compiles and pages in. */
const WARMUP_TIMEOUT_MS = 300_000;
/** Failures of an input that must work, in a row, before the replica is given up. */
const WARMUP_ATTEMPTS = 3;
/** The onboarding probe as a whole, and one of its steps: start-up time is paid for by whoever waits for the replica. */
const PROBE_BUDGET_MS = 2_000;
const PROBE_STEP_MS = 250;
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
          "check the input example and the model with `curl` on another version, or save the model without an example",
        );
      }
    }
    if (durationsMs.length > 0) times[probe.requestClass] = computeServiceMs(durationsMs);
  }
  return times;
}

/**
 * Finds the knee with short closed-loop steps of 1, 2, 4, ... senders, within PROBE_BUDGET_MS.
 * `serviceMs` is the unloaded service time. Null where the model is too slow to be measured in that time, or refuses the
 * input.
 */
export async function probeConcurrency(
  client: ProbeClient,
  probe: ProbeRequest,
  serviceMs: number,
  limit: number | null,
): Promise<number | null> {
  const endMs = performance.now() + PROBE_BUDGET_MS;
  const most = Math.min(limit ?? PROBE_LIMIT, PROBE_LIMIT);
  const steps: ProbeStep[] = [];
  for (;;) {
    const concurrency = nextProbeConcurrency(steps, most);
    // At worst the model works one request after the other, so that a step takes as many service times as senders.
    const stepMs = Math.max(PROBE_STEP_MS, serviceMs * (concurrency ?? 0));
    if (concurrency === null || performance.now() + stepMs > endMs) return computeKnee(steps);
    const step = await runStep(client, probe, concurrency);
    if (step === null) return computeKnee(steps);
    steps.push(step);
  }
}

async function runStep(client: ProbeClient, probe: ProbeRequest, concurrency: number): Promise<ProbeStep | null> {
  const startedMs = performance.now();
  let completed = 0;
  let failed = false;
  const sender = async (): Promise<void> => {
    while (!failed && performance.now() - startedMs < PROBE_STEP_MS) {
      const outcome = await client.send(probe, WARMUP_TIMEOUT_MS);
      if (outcome.status < 400) completed++;
      else failed = true;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sender));
  if (failed) return null;
  return { concurrency, ratePerSecond: (completed * 1000) / (performance.now() - startedMs) };
}
