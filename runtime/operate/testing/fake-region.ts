import type { Plain } from "../../core/controller.ts";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import { type ApiKeys, REGION_KEY } from "../../domain/board.ts";
import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DecisionLog, DecisionRecord } from "../../ports/stores.ts";
import type { RegionInfo, RegionOperations, Replayed } from "../api/operations.ts";
import { LogBook } from "../logs/log-book.ts";
import { FakeBoard } from "./fake-board.ts";

/** A clock that stands still until a test moves it; its timers fire in order. */
export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();

  monoMs = () => asMonoMs(this.#nowMs);
  wallMs = () => asWallMs(this.#nowMs);
  now = () => ({ mono: this.monoMs(), wall: this.wallMs() });

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves time on, firing what falls due. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#nowMs = due.atMs;
      due.callback();
    }
    this.#nowMs = untilMs;
  }
}

/** A decision log in memory. */
class FakeDecisions implements DecisionLog {
  readonly #records: (DecisionRecord & { readonly id: number })[] = [];

  append(record: DecisionRecord): number {
    const id = this.#records.length + 1;
    this.#records.push({ ...record, id });
    return id;
  }

  list({ controller, key, beforeId, limit }: Parameters<DecisionLog["list"]>[0]) {
    const matches = this.#records.filter(
      (record) =>
        (controller === undefined || record.controller === controller) &&
        (key === undefined || record.key === key) &&
        (beforeId === undefined || record.id < beforeId),
    );
    const newest = matches.toReversed().slice(0, limit);
    return newest.map(({ replay, ...record }) => ({ ...record, replayable: replay !== null }));
  }

  get(id: number) {
    return this.#records.find((record) => record.id === id) ?? null;
  }
}

/** A region that does what the API says to its Board, and nothing else. */
export class FakeRegion implements RegionOperations {
  readonly info: RegionInfo = {
    region: "local",
    baseUrl: "http://127.0.0.1:8080",
    dataDir: "/data",
    regionFile: "/regions/region.yaml",
    startedAtMs: asWallMs(0),
    incarnation: 1,
  };
  readonly clock: Clock;
  readonly board = new FakeBoard();
  readonly decisions = new FakeDecisions();
  readonly logs = new LogBook();
  readonly shadows = [{ name: "slow", controller: "autoscaler" }];
  /** Endpoints whose artifact was to be looked at again, in order. */
  readonly redeployed: string[] = [];
  /** Decisions made, as /metrics tells them. */
  counts: ReturnType<RegionOperations["decisionCounts"]> = [];
  /** What a replay comes to. */
  replayed: Replayed | null = null;
  /** Keys are required. */
  keysRequired = false;

  constructor(clock: Clock = new FakeClock()) {
    this.clock = clock;
  }

  decisionCounts() {
    return this.counts;
  }

  watch(observer: Parameters<RegionOperations["watch"]>[0]): () => void {
    return this.board.watch(observer);
  }

  applySpec(spec: EndpointSpec): void {
    this.board.put("spec", spec.name, spec);
  }

  removeEndpoint(name: string): void {
    for (const fact of ["prepared", "rollout", "spec"] as const) this.board.remove(fact, name);
  }

  redeploy(name: string): void {
    this.redeployed.push(name);
  }

  applyKeys(keys: ApiKeys["keys"]): void {
    this.board.put("keys", REGION_KEY, { required: this.keysRequired, keys });
  }

  replay(record: DecisionRecord): Replayed | null {
    return record.replay === null ? null : this.replayed;
  }

  /** Logs a decision with the named fields replaced; returns its id. */
  decide(fields: Partial<DecisionRecord> & { readonly output?: Plain } = {}): number {
    return this.decisions.append({
      controller: "autoscaler",
      key: "iris-aaaaaaaaaa",
      atWallMs: this.clock.wallMs(),
      atMonoMs: this.clock.monoMs(),
      reason: "scale: demand",
      inputs: { demand: 12 },
      output: { replicas: 3 },
      replay: { world: {}, memory: {} },
      ...fields,
    });
  }
}
