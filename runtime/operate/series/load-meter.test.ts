import { expect, test } from "vitest";
import { aRouterLoad, aVersion, aVersionLoad, bucketsWith } from "../testing/facts.ts";
import { LoadMeter } from "./load-meter.ts";

const iris = aVersion().id;

/** A router that gets `rps` requests a second, each of 4 ms. */
const steady = (seq: number, rps: number, router = "router-0", epoch = 1) =>
  aRouterLoad(
    seq,
    [
      aVersionLoad({
        arrivals: seq * rps,
        inFlight: 2,
        queued: 1,
        serviceMsBuckets: bucketsWith([{ ms: 4, count: seq * rps }]),
      }),
    ],
    { router, epoch },
  );

test("rates are differences of two reports over the router's own clock, summed over routers", () => {
  const meter = new LoadMeter();
  for (let seq = 1; seq <= 20; seq++) meter.read([steady(seq, 100), steady(seq, 50, "router-1")]);
  const rates = meter.rates([iris], 10, 20_000);
  expect(rates).toMatchObject({ qps: 150, inFlight: 4, queued: 2 });
  // The bucket of 4 ms reaches from 2.83 to 4 ms; its middle on the logarithmic scale is 3.36.
  expect(rates.p50Ms).toBeCloseTo(3.36, 1);
});

test("one report gives gauges and no rate", () => {
  const meter = new LoadMeter();
  meter.read([steady(5, 100)]);
  expect(meter.rates([iris], 10, 5_000)).toMatchObject({ qps: 0, p99Ms: null, inFlight: 2 });
});

test("a repeated report changes nothing", () => {
  const [once, twice] = [new LoadMeter(), new LoadMeter()];
  for (let seq = 1; seq <= 4; seq++) {
    once.read([steady(seq, 10)]);
    for (let repeat = 0; repeat < 3; repeat++) twice.read([steady(seq, 10)]);
  }
  expect(twice.rates([iris], 10, 4_000)).toEqual(once.rates([iris], 10, 4_000));
});

test("a router's new life counts from its own first report, never negative", () => {
  const meter = new LoadMeter();
  for (let seq = 1; seq <= 5; seq++) meter.read([steady(seq, 1_000)]);
  meter.read([steady(1, 10, "router-0", 2)]);
  expect(meter.rates([iris], 10, 1_000).qps).toBe(0);
  meter.read([steady(2, 10, "router-0", 2)]);
  expect(meter.rates([iris], 10, 2_000).qps).toBe(10);
});

test("a router that has been silent for over 3 s counts as idle", () => {
  const meter = new LoadMeter();
  for (let seq = 1; seq <= 5; seq++) meter.read([steady(seq, 100)]);
  expect(meter.rates([iris], 10, 8_000).qps).toBe(100);
  expect(meter.rates([iris], 10, 8_001)).toMatchObject({ qps: 0, inFlight: 0 });
});
