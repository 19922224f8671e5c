import type { ToRouter } from "../contract/wire/messages.ts";
import { assert } from "../core/assert.ts";
import type { Uniform } from "../core/prng.ts";
import { FlowThread } from "../dataplane/flow/flow-thread.ts";
import type { Asked, Lease } from "../dataplane/flow/lease.ts";
import { readLoad } from "../dataplane/flow/load.ts";
import { createFlowMemory, type FlowMemory } from "../dataplane/flow/memory.ts";
import { type SlotPlan, SlotPlanner } from "../dataplane/flow/slots.ts";
import type { RouterLoad, VersionLoad } from "../domain/load.ts";
import { applyDiff, type Snapshot } from "../domain/snapshot.ts";
import type { Clock } from "../ports/clock.ts";
import type { SimHost, SimReplica } from "./sim-host.ts";

/** A modelled request: its size is in units of the mean. */
interface SimRequest extends Asked {
  readonly size: number;
  /** Called once, with its end: answered, failed or turned away. */
  readonly ended: () => void;
}

const REPORT_MS = 1_000;

/** What a router tells the controller. */
export interface RouterMouth {
  load(load: Omit<RouterLoad, "receivedAtMs">): void;
  wake(version: string): void;
}

/** A router of one thread in virtual time: the very flow tables between modelled clients and modelled replicas. */
export class SimRouter {
  failed = 0;
  turnedAway = 0;
  /** Time from arrival to answer of every completed request, in milliseconds, for percentiles. */
  readonly latenciesMs: number[] = [];
  readonly #clock: Clock;
  readonly #host: SimHost;
  readonly #mouth: RouterMouth;
  readonly #memory: FlowMemory;
  readonly #planner: SlotPlanner;
  readonly #flow: FlowThread<SimRequest>;
  readonly #running = new Map<string, Set<{ lease: Lease<SimRequest>; abort: () => void }>>();
  #plan: SlotPlan | null = null;
  #snapshot: Snapshot | null = null;
  #seq = 0;
  #timer: { atMs: number; cancel: () => void } | null = null;

  constructor(clock: Clock, host: SimHost, uniform: Uniform, mouth: RouterMouth) {
    this.#clock = clock;
    this.#host = host;
    this.#mouth = mouth;
    this.#memory = createFlowMemory({ threads: 1, replicaSlots: 4_096, versionSlots: 64 });
    this.#planner = new SlotPlanner(this.#memory);
    this.#flow = new FlowThread(this.#memory, 0, uniform);
    host.onEnd = (replica) => this.#reset(replica);
    this.#reportLoop();
  }

  /** Requests that are charged anywhere or wait: 0 when idle, or a lease was lost. */
  outstanding(): number {
    return this.#rows().reduce((sum, row) => sum + row.inFlight + row.queued, 0);
  }

  /** What the controller sends. Requires: a diff starts from what was sent last, as no message is lost here. */
  take(message: ToRouter): void {
    const snapshot =
      message.kind === "snapshot" ? message.snapshot : this.#snapshot && applyDiff(this.#snapshot, message);
    assert(snapshot !== null, "a diff that starts from no snapshot this router holds");
    this.#snapshot = snapshot;
    this.#plan = this.#planner.plan(snapshot);
    this.#flow.applyPlan(this.#plan, this.#clock.monoMs());
    this.#pump();
  }

  /** A client's request arrives. */
  arrive(endpoint: string, size: number, ended: () => void = () => {}): void {
    const request: SimRequest = { workload: "sim", bodyBytes: 100, cost: 1, mayRepeat: true, size, ended };
    const lease = this.#flow.admit(endpoint, request, this.#clock.monoMs());
    if (typeof lease === "string") {
      this.turnedAway++;
      ended();
      return;
    }
    if (lease.seat !== null) this.#send(lease);
    else if (lease.risingEdge) this.#wake(lease.version.id);
    this.#pump();
  }

  #wake(version: string): void {
    this.#report();
    this.#mouth.wake(version);
  }

  #send(lease: Lease<SimRequest>): void {
    const seat = lease.seat!;
    const replica = this.#host.replicas.get(seat.replica);
    if (replica === undefined || replica.epoch !== seat.epoch) {
      this.#faulted(lease, "connect-refused", false);
      return;
    }
    const key = `${seat.replica}/${seat.epoch}`;
    const running = this.#running.get(key) ?? new Set();
    this.#running.set(key, running);
    const entry = { lease, abort: () => {} };
    running.add(entry);
    entry.abort = replica.engine.start(lease.request.size, () => {
      running.delete(entry);
      const nowMs = this.#clock.monoMs();
      this.#flow.firstByte(lease, nowMs);
      this.#flow.settle(lease, "completed", nowMs);
      this.latenciesMs.push(nowMs - lease.arrivedAtMs);
      lease.request.ended();
      this.#pump();
    });
  }

  #reset(replica: SimReplica): void {
    const running = this.#running.get(`${replica.id}/${replica.epoch}`);
    this.#running.delete(`${replica.id}/${replica.epoch}`);
    for (const { lease } of running ?? []) this.#faulted(lease, "reset", true);
    this.#pump();
  }

  #faulted(lease: Lease<SimRequest>, kind: "reset" | "connect-refused", sent: boolean): void {
    const nowMs = this.#clock.monoMs();
    this.#flow.fault(lease, kind, nowMs);
    const moved = this.#flow.retry(lease, { sent, answerBegun: false }, nowMs);
    if (moved === "moved") this.#send(lease);
    if (moved !== "denied") return;
    this.failed++;
    this.#flow.settle(lease, "failed", nowMs);
    lease.request.ended();
  }

  #pump(): void {
    const nowMs = this.#clock.monoMs();
    for (let next = this.#flow.takeReady(nowMs); next !== null; next = this.#flow.takeReady(nowMs)) this.#send(next);
    for (let late = this.#flow.takeExpired(nowMs); late !== null; late = this.#flow.takeExpired(nowMs)) {
      this.turnedAway++;
      late.request.ended();
    }
    const atMs = this.#flow.wakeAtMs(nowMs);
    if (this.#timer !== null && this.#timer.atMs <= atMs && this.#timer.atMs > nowMs) return;
    this.#timer?.cancel();
    this.#timer = null;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const cancel = this.#clock.after(atMs - nowMs, () => {
      this.#timer = null;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }

  #reportLoop(): void {
    this.#clock.after(REPORT_MS, () => {
      this.#report();
      this.#reportLoop();
    });
  }

  #rows(): readonly VersionLoad[] {
    return this.#plan === null ? [] : readLoad(this.#memory, this.#plan, this.#clock.monoMs()).versions;
  }

  #report(): void {
    if (this.#plan === null) return;
    const nowMs = this.#clock.monoMs();
    const { versions, replicas } = readLoad(this.#memory, this.#plan, nowMs);
    this.#mouth.load({
      router: "sim-router",
      epoch: 1,
      seq: ++this.#seq,
      routerMonoMs: nowMs,
      snapshotGeneration: this.#snapshot?.generation ?? null,
      memoryBytes: null,
      versions,
      replicas,
    });
  }
}
