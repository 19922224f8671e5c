import type { ProbeRequest } from "../../serving/contract.ts";
import type { ProbeClient } from "./probe-client.ts";

/** One try of a canary; a lost or silent one is tried again, while the time it waits keeps counting from the first. */
const TRY_TIMEOUT_MS = 60_000;
const RETRY_GAP_MS = 1_000;

interface CanaryState {
  waitingSinceMs: number | null;
  answeredAtMs: number | null;
}

/** The canaries of a replica, one per request class, at most one of each on its way. Any answer is a sign of life. */
export class Canaries {
  readonly #client: ProbeClient;
  readonly #probes: ReadonlyMap<string, ProbeRequest>;
  readonly #states = new Map<string, CanaryState>();

  constructor(client: ProbeClient, probes: readonly ProbeRequest[]) {
    this.#client = client;
    this.#probes = new Map(probes.map((probe) => [probe.requestClass, probe]));
  }

  /** When the canary that has no answer yet was first sent (monotonic), or null. */
  waitingSinceMs(requestClass: string): number | null {
    return this.#states.get(requestClass)?.waitingSinceMs ?? null;
  }

  /** When a canary was last answered (monotonic), or null. */
  answeredAtMs(requestClass: string): number | null {
    return this.#states.get(requestClass)?.answeredAtMs ?? null;
  }

  /** Sends the class's canary unless one is on its way; a class without a canary is never judged by one. */
  send(requestClass: string): void {
    const probe = this.#probes.get(requestClass);
    const state = this.#states.get(requestClass) ?? { waitingSinceMs: null, answeredAtMs: null };
    if (probe === undefined || state.waitingSinceMs !== null) return;
    state.waitingSinceMs = performance.now();
    this.#states.set(requestClass, state);
    this.#try(probe, state);
  }

  #try(probe: ProbeRequest, state: CanaryState): void {
    this.#client.send(probe, TRY_TIMEOUT_MS).then(
      () => {
        state.waitingSinceMs = null;
        state.answeredAtMs = performance.now();
      },
      () => setTimeout(() => this.#try(probe, state), RETRY_GAP_MS),
    );
  }
}
