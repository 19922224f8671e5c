import { describe, expect, it } from "vitest";
import { exponential, seededUniform } from "../core/prng.ts";
import { nextArrivalMs } from "./arrivals.ts";
import { FluidLoad } from "./fluid-load.ts";
import { batching, cpuBound, ioWaiting, type ServiceModel } from "./service-model.ts";
import { SharedReplica } from "./shared-replica.ts";
import { VirtualClock } from "./virtual-clock.ts";

const MINUTES = 10;

/** Mean in flight of one replica under Poisson arrivals, event by event. */
function exactInFlight(service: ServiceModel, rps: number): number {
  const clock = new VirtualClock();
  const replica = new SharedReplica(clock, service);
  const uniform = seededUniform(3);
  const endMs = MINUTES * 60_000;
  let inFlightMs = 0;
  const arrive = () => {
    const atMs = nextArrivalMs(() => rps, rps, clock.monoMs(), endMs, uniform);
    if (atMs >= endMs) return;
    clock.after(atMs - clock.monoMs(), () => {
      replica.start(exponential(uniform, 1), () => {
        inFlightMs += clock.monoMs() - atMs;
      });
      arrive();
    });
  };
  arrive();
  clock.runUntil(endMs);
  return inFlightMs / endMs;
}

function fluidInFlight(service: ServiceModel, rps: number): number {
  const load = new FluidLoad(service, 1_000, seededUniform(3));
  const stepMs = 2;
  for (let atMs = 0; atMs < MINUTES * 60_000; atMs += stepMs) load.step(atMs, stepMs, rps, 1, 1_000_000);
  return load.inFlightMsTotal / (MINUTES * 60_000);
}

describe("the fluid load", () => {
  it.each([
    // Requests per second at 60 to 80 % of what each can do.
    { service: cpuBound(100, 4), rps: 30 },
    { service: cpuBound(100, 16), rps: 120 },
    { service: batching(20, 2), rps: 300 },
    { service: ioWaiting(1_000, 10, 1), rps: 60 },
  ])("has the in flight of the exact path within 15 percent: $service.name at $rps QPS", ({ service, rps }) => {
    const exact = exactInFlight(service, rps);
    expect(Math.abs(fluidInFlight(service, rps) / exact - 1)).toBeLessThan(0.15);
  });

  it("loses no request: arrivals are completed, in flight, queued or turned away", () => {
    const load = new FluidLoad(cpuBound(100, 1), 50, seededUniform(9));
    for (let atMs = 0; atMs < 60_000; atMs += 10) {
      load.step(atMs, 10, 20, atMs < 20_000 ? 1 : 0, 4);
      expect(load.completed + load.inFlight + load.queued + load.turnedAway).toBe(load.arrivals);
    }
    expect(load.turnedAway).toBeGreaterThan(0);
  });
});

describe("the exact replica", () => {
  it("of one core is the M/M/1 queue of the books", () => {
    // At 70 % use: 0.7 / 0.3 = 2.33 in flight on average.
    expect(Math.abs(exactInFlight(cpuBound(50, 1), 14) / (0.7 / 0.3) - 1)).toBeLessThan(0.15);
  });
});
