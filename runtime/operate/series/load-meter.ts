import type { RouterLoad, VersionLoad } from "../../domain/load.ts";
import { addBucketDifference, quantileMs } from "./histogram.ts";

/** Readings kept per router and version: rates shown as numbers are over the last 10 reports, 10 s. */
const KEPT_READINGS = 11;
/** A router silent for this long counts as idle: three reports are missing. */
const STALE_MS = 3_000;

/** Load of a version or an endpoint over a span of time, all routers together. */
export interface Rates {
  readonly qps: number;
  readonly failedRps: number;
  readonly turnedAwayRps: number;
  readonly retriesRps: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly firstByteP50Ms: number | null;
  readonly firstByteP99Ms: number | null;
  /** Gauges of the newest reports. */
  readonly inFlight: number;
  readonly queued: number;
}

interface Reading {
  readonly routerMonoMs: number;
  readonly load: VersionLoad;
}

interface RouterReadings {
  epoch: number;
  seq: number;
  receivedAtMs: number;
  readonly versions: Map<string, Reading[]>;
}

/**
 * Turns cumulative reports into rates: differences of two readings of the same router in the same epoch, divided by
 * that router's own clock. A repeated report changes nothing; after a router's restart counting begins anew.
 */
export class LoadMeter {
  readonly #routers = new Map<string, RouterReadings>();

  /** Takes the newest reports of all routers; a router that is not among them is forgotten. */
  read(loads: readonly RouterLoad[]): void {
    const present = new Set(loads.map((load) => load.router));
    for (const router of this.#routers.keys()) if (!present.has(router)) this.#routers.delete(router);
    for (const load of loads) this.#readRouter(load);
  }

  /** Rates of one version, or of several as one, over the last `reports` reports (1 to 10). */
  rates(versions: readonly string[], reports: number, nowMs: number): Rates {
    const sum = new RateSum();
    for (const router of this.#routers.values()) {
      if (nowMs - router.receivedAtMs > STALE_MS) continue;
      for (const version of versions) {
        const readings = router.versions.get(version);
        const newest = readings?.at(-1);
        if (readings === undefined || newest === undefined) continue;
        sum.add(newest, readings[Math.max(0, readings.length - 1 - reports)] ?? newest);
      }
    }
    return sum.rates();
  }

  #readRouter(report: RouterLoad): void {
    let router = this.#routers.get(report.router);
    if (router?.epoch !== report.epoch) {
      router = { epoch: report.epoch, seq: -1, receivedAtMs: 0, versions: new Map() };
      this.#routers.set(report.router, router);
    }
    if (report.seq <= router.seq) return;
    router.seq = report.seq;
    router.receivedAtMs = report.receivedAtMs;
    const listed = new Set(report.versions.map((load) => load.version));
    for (const version of router.versions.keys()) if (!listed.has(version)) router.versions.delete(version);
    for (const load of report.versions) {
      const readings = router.versions.get(load.version) ?? [];
      // A count that fell is a version that went and came back in the same router.
      if ((readings.at(-1)?.load.arrivals ?? 0) > load.arrivals) readings.length = 0;
      readings.push({ routerMonoMs: report.routerMonoMs, load });
      if (readings.length > KEPT_READINGS) readings.shift();
      router.versions.set(load.version, readings);
    }
  }
}

class RateSum {
  #qps = 0;
  #failedRps = 0;
  #turnedAwayRps = 0;
  #retriesRps = 0;
  #inFlight = 0;
  #queued = 0;
  readonly #service: number[] = [];
  readonly #firstByte: number[] = [];

  add(newest: Reading, oldest: Reading): void {
    const [later, earlier] = [newest.load, oldest.load];
    this.#inFlight += later.inFlight;
    this.#queued += later.queued;
    const seconds = (newest.routerMonoMs - oldest.routerMonoMs) / 1_000;
    if (seconds <= 0) return;
    this.#qps += (later.arrivals - earlier.arrivals) / seconds;
    this.#failedRps += (later.failed - earlier.failed) / seconds;
    this.#turnedAwayRps += (later.turnedAwayForCapacity - earlier.turnedAwayForCapacity) / seconds;
    this.#retriesRps += (later.retries - earlier.retries) / seconds;
    addBucketDifference(this.#service, later.serviceMsBuckets, earlier.serviceMsBuckets);
    addBucketDifference(this.#firstByte, later.firstByteMsBuckets, earlier.firstByteMsBuckets);
  }

  rates(): Rates {
    return {
      qps: this.#qps,
      failedRps: this.#failedRps,
      turnedAwayRps: this.#turnedAwayRps,
      retriesRps: this.#retriesRps,
      p50Ms: quantileMs(this.#service, 0.5),
      p99Ms: quantileMs(this.#service, 0.99),
      firstByteP50Ms: quantileMs(this.#firstByte, 0.5),
      firstByteP99Ms: quantileMs(this.#firstByte, 0.99),
      inFlight: this.#inFlight,
      queued: this.#queued,
    };
  }
}
