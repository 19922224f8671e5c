/**
 * How a modelled replica serves: requests in flight share its work evenly, and `completionsPerMs(n)` is its throughput
 * with n in flight. Every kind of model is a shape of that one function.
 */
export interface ServiceModel {
  readonly name: string;
  /** Throughput with `inFlight` requests of mean size. Requires: inFlight > 0. */
  completionsPerMs(inFlight: number): number;
  /** Cores in use with `inFlight` requests. */
  cpuUse(inFlight: number): number;
  /** Cores allotted. */
  readonly cpuCount: number;
  readonly memoryRatio: (inFlight: number) => number | null;
}

/** Each request keeps one core busy for `serviceMs`: throughput grows up to the core count and stays. */
export function cpuBound(serviceMs: number, cores: number): ServiceModel {
  return {
    name: `cpu-bound, ${cores} cores`,
    completionsPerMs: (inFlight) => Math.min(inFlight, cores) / serviceMs,
    cpuUse: (inFlight) => Math.min(inFlight, cores),
    cpuCount: cores,
    memoryRatio: () => null,
  };
}

/** CPU-bound until `fits` requests take 90 % of the memory, where the kernel begins to reclaim; beyond it throughput falls. */
export function memoryBound(serviceMs: number, cores: number, fits: number): ServiceModel {
  const fast = cpuBound(serviceMs, cores);
  return {
    ...fast,
    name: `memory-bound, ${fits} fit`,
    completionsPerMs: (inFlight) =>
      inFlight <= fits ? fast.completionsPerMs(inFlight) : fast.completionsPerMs(fits) * (fits / inFlight) ** 2,
    memoryRatio: (inFlight) => 0.3 + (0.6 * inFlight) / fits,
  };
}

/** Batches of all that is in flight: a batch of n takes `fixedMs + perRequestMs x n`, so throughput grows ever slower. */
export function batching(fixedMs: number, perRequestMs: number): ServiceModel {
  return {
    name: `batching, ${fixedMs} + ${perRequestMs} n ms`,
    completionsPerMs: (inFlight) => inFlight / (fixedMs + perRequestMs * inFlight),
    // A batch keeps every thread busy whatever its size: CPU says nothing here.
    cpuUse: () => 1,
    cpuCount: 1,
    memoryRatio: () => null,
  };
}

/**
 * Batches in turn, as an engine with one run at a time does: a request waits for the run under way and then for its own, but
 * for one that is alone. Two take nearly twice as long as one, and twenty hardly longer than two.
 */
export function batchingInTurn(fixedMs: number, perRequestMs: number): ServiceModel {
  return {
    ...batching(2 * fixedMs, perRequestMs),
    name: `batches in turn, ${fixedMs} + ${perRequestMs} n ms`,
    completionsPerMs: (inFlight) =>
      inFlight < 2 ? inFlight / (fixedMs + perRequestMs) : inFlight / (2 * fixedMs + perRequestMs * inFlight),
  };
}

/** Each request waits `waitMs` for others and computes for `cpuMs`: the knee is where the cores fill, at (wait + cpu) / cpu x cores. */
export function ioWaiting(waitMs: number, cpuMs: number, cores: number): ServiceModel {
  const busy = (inFlight: number) => Math.min(cores, (inFlight * cpuMs) / (waitMs + cpuMs));
  return {
    name: `waits on I/O, ${waitMs} + ${cpuMs} ms`,
    completionsPerMs: (inFlight) => busy(inFlight) / cpuMs,
    cpuUse: busy,
    cpuCount: cores,
    memoryRatio: () => null,
  };
}
