import type { Now, WallMs } from "../../core/time.ts";
import type { BoardView, FactName, Facts } from "../../domain/board.ts";
import type { Rollout } from "../../domain/rollout.ts";
import { valueOrNull } from "../views/value-or-null.ts";
import { ColumnRing, KEPT_POINTS, type SeriesColumn, type SeriesPoint } from "./columns.ts";
import { LoadMeter, type Rates } from "./load-meter.ts";
import { ReplicaMeter } from "./replica-meter.ts";

/** Series kept at most (endpoints and versions together), 47 kB each; later ones are not recorded. */
const MAX_SERIES = 1_000;
/** Reports that the numbers in tables look back over: about 10 s, long enough for a p99 of a few requests a second. */
const TABLE_REPORTS = 10;

/** A piece of a series: `atMs` and every column have the same length, oldest first. */
export interface SeriesSlice {
  readonly atMs: readonly WallMs[];
  readonly columns: Readonly<Record<SeriesColumn, readonly (number | null)[]>>;
}

/** What views need of the measurements. */
export interface Measurements {
  /** Rates over about the last 10 s of one or more versions as one. */
  rates(versions: readonly string[], nowMs: number): Rates;
  cpuCores(replica: string): number | null;
  coldStarts(version: string): number;
}

/** The last 15 minutes of every version and endpoint, sampled from the Board once a second. Holds no timer. */
export class Series implements Measurements {
  readonly #load = new LoadMeter();
  readonly #replicas = new ReplicaMeter();
  readonly #atMs: WallMs[] = [];
  readonly #rings = new Map<string, ColumnRing>();
  #next = 0;

  /** Takes one sample of the Board. Cost: O(versions x routers + replicas). */
  sample(board: BoardView, now: Now): void {
    this.#load.read(valuesOf(board, "routerLoad"));
    this.#readReplicas(board);
    this.#atMs[this.#next] = now.wall;
    const live = new Set<string>();
    const versions = new Set<string>();
    for (const rollout of valuesOf(board, "rollout")) {
      const ids = rollout.versions.map((rolled) => rolled.version.id);
      for (const id of ids) versions.add(id);
      const points = this.#pointsOf(board, rollout, now);
      for (const [key, point] of points) {
        live.add(key);
        this.#ring(key)?.set(this.#next, point);
      }
    }
    for (const [key, ring] of this.#rings) {
      if (live.has(key)) continue;
      if (versions.has(key)) ring.set(this.#next, null);
      else this.#rings.delete(key);
    }
    this.#replicas.retain(new Set(board.keys("replica")), versions);
    this.#next = (this.#next + 1) % KEPT_POINTS;
  }

  /** The points of an endpoint or a version after `sinceMs`, or null where nothing was recorded. */
  slice(key: string, sinceMs: number): SeriesSlice | null {
    const ring = this.#rings.get(key);
    if (ring === undefined) return null;
    const oldest = this.#atMs.length < KEPT_POINTS ? 0 : this.#next;
    const slots = this.#atMs.map((_, index) => (oldest + index) % this.#atMs.length);
    const wanted = slots.filter((slot) => (this.#atMs[slot] ?? 0) > sinceMs);
    return { atMs: wanted.map((slot) => this.#atMs[slot] as WallMs), columns: ring.read(wanted) };
  }

  rates(versions: readonly string[], nowMs: number): Rates {
    return this.#load.rates(versions, TABLE_REPORTS, nowMs);
  }

  cpuCores(replica: string): number | null {
    return this.#replicas.cpuCores(replica);
  }

  coldStarts(version: string): number {
    return this.#replicas.coldStarts(version);
  }

  #ring(key: string): ColumnRing | null {
    const existing = this.#rings.get(key);
    if (existing !== undefined) return existing;
    if (this.#rings.size >= MAX_SERIES) return null;
    const ring = new ColumnRing(KEPT_POINTS);
    this.#rings.set(key, ring);
    return ring;
  }

  #readReplicas(board: BoardView): void {
    for (const key of board.keys("replica")) {
      const known = board.get("replica", key);
      if (known.kind === "known") this.#replicas.readReplica(known.value, known.atMs);
    }
  }

  /** Points of the rollout's versions that do something, and of the endpoint as a whole. */
  #pointsOf(board: BoardView, rollout: Rollout, now: Now): [string, SeriesPoint][] {
    const points: [string, SeriesPoint][] = [];
    const active = rollout.versions.filter(({ phase }) => phase !== "kept" && phase !== "failed");
    for (const { version, phase } of active) {
      const own = board.replicasOf("replica", version.id).flatMap((id) => valueOrNull(board.get("replica", id)) ?? []);
      const ready = own.filter((report) => report.phase === "ready").length;
      if (phase === "serving") this.#replicas.readReady(version.id, ready);
      const wanted = valueOrNull(board.get("wanted", version.id));
      const targetConcurrency = wanted?.targetConcurrency ?? null;
      points.push([
        version.id,
        {
          ...loadColumns(this.#load.rates([version.id], 1, now.mono)),
          targetConcurrency,
          capacity: targetConcurrency === null ? null : targetConcurrency * ready,
          wantedReplicas: wanted?.replicas ?? null,
          readyReplicas: ready,
          coldStarts: this.coldStarts(version.id),
          cpuCores: own.reduce((sum, report) => sum + (this.cpuCores(report.id) ?? 0), 0),
        },
      ]);
    }
    const ids = active.map(({ version }) => version.id);
    const parts = points.map(([, point]) => point);
    points.push([rollout.endpoint, endpointPoint(this.#load.rates(ids, 1, now.mono), parts)]);
    return points;
  }
}

function loadColumns(rates: Rates) {
  const { qps, failedRps, turnedAwayRps, p50Ms, p99Ms, inFlight, queued } = rates;
  return { qps, failedRps, turnedAwayRps, p50Ms, p99Ms, inFlight, queued };
}

/** The endpoint's point: quantiles from the merged histograms, sums else. */
function endpointPoint(rates: Rates, parts: readonly SeriesPoint[]): SeriesPoint {
  const sum = (column: SeriesColumn) => parts.reduce((total, part) => total + (part[column] ?? 0), 0);
  return {
    ...loadColumns(rates),
    targetConcurrency: null,
    capacity: sum("capacity"),
    wantedReplicas: sum("wantedReplicas"),
    readyReplicas: sum("readyReplicas"),
    coldStarts: sum("coldStarts"),
    cpuCores: sum("cpuCores"),
  };
}

function valuesOf<F extends FactName>(board: BoardView, fact: F): Facts[F][] {
  return board.keys(fact).flatMap((key) => {
    const known = board.get(fact, key);
    return known.kind === "known" ? [known.value] : [];
  });
}
