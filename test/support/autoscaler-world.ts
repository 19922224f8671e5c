import type { World } from "../../runtime/control/autoscaler/world.ts";

/** What the autoscaler sees of a serving version with one ready replica and no traffic yet; the changes say what matters to the test. */
export function autoscalerWorld(change: Partial<World> = {}, replicas: Partial<World["replicas"]> = {}): World {
  return {
    version: "iris-0123456789",
    endpoint: "iris",
    hostKnown: true,
    place: { phase: "serving", weight: 100, sizedForWeight: 100 },
    concurrency: { min: 0, max: 1_000 },
    sleepAfterMs: 120_000,
    maxInFlight: null,
    routers: [],
    replicas: {
      asked: 1,
      ready: 1,
      startingSinceMs: [],
      broken: 0,
      heardAtMs: [],
      startupMs: null,
      probedConcurrency: null,
      warmupServiceMs: null,
      meters: [],
      ...replicas,
    },
    onTheWayMs: 1,
    predecessorTarget: null,
    ...change,
  };
}
