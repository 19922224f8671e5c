import { assert } from "../../core/assert.ts";
import type { Uniform } from "../../core/prng.ts";
import type { EndpointName } from "../../domain/names.ts";
import { Balancer } from "./balancer.ts";
import { ThreadCounters } from "./counters.ts";
import { Faults } from "./faults.ts";
import {
  type Asked,
  type EndpointTable,
  type FaultKind,
  type FaultVerdict,
  Lease,
  type Moved,
  type Outcome,
  type Refusal,
  type Seat,
  type VersionTable,
} from "./lease.ts";
import { COUNTER, type FlowMemory } from "./memory.ts";
import type { SlotPlan } from "./slots.ts";
import { ThreadTables } from "./thread-tables.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** Times one request may be sent again after a fault. */
const MAX_RETRIES = 2;
/** After a fault the same seat is not tried again for the same request for this long: by then a dead one has left the snapshot. */
const FAULT_PAUSE_MS = 1_000;
/** After a refusal at the replica's own cap: about the time in which one of many requests there ends. */
const REFUSAL_PAUSE_MS = 25;
/** While anything waits, the tables are looked at this often even if nothing happens: exclusions and pauses end by time alone. */
const LOOK_AGAIN_MS = 20;

const OUTCOME_COUNTER: Readonly<Record<Outcome, number>> = {
  completed: COUNTER.completed,
  failed: COUNTER.failed,
  "client-gone": COUNTER.clientGone,
  "timed-out": COUNTER.failed,
  cancelled: COUNTER.clientGone,
};

/**
 * One thread's flow tables. Every method is synchronous and does its whole change in one turn; `nowMs` is of the one
 * clock that all threads share. After any call, and on the doorbell, call takeReady and takeExpired until they give null.
 */
export class FlowThread<R extends Asked> {
  /** Cell to wait on with Atomics.waitAsync: it changes when another thread freed room that is this one's to use. */
  readonly doorbell: { readonly cells: Int32Array; readonly index: number };
  readonly #memory: FlowMemory;
  readonly #thread: number;
  readonly #uniform: Uniform;
  readonly #tables: ThreadTables<R>;
  readonly #counters: ThreadCounters;
  readonly #faults: Faults;
  readonly #balancer: Balancer;
  readonly #room: WaitingRoom<R>;

  constructor(memory: FlowMemory, thread: number, uniform: Uniform) {
    this.#memory = memory;
    this.#thread = thread;
    this.#uniform = uniform;
    this.doorbell = { cells: memory.doorbell, index: thread };
    this.#tables = new ThreadTables(memory, thread);
    this.#counters = new ThreadCounters(memory, thread);
    this.#faults = new Faults(memory, thread, uniform);
    this.#balancer = new Balancer(memory, thread, this.#faults, uniform);
    this.#room = new WaitingRoom(memory, thread);
  }

  /** Whether any request of this thread waits. */
  get anyWaiting(): boolean {
    return this.#room.versions.length > 0;
  }

  /**
   * Takes a newer plan; an older one is ignored. Requests that wait for a version which no longer serves move to one
   * that does, and arrive there anew; they wait on where there is none, and their time is up where the endpoint is gone.
   */
  applyPlan(plan: SlotPlan, nowMs: number): void {
    if (!this.#tables.apply(plan)) return;
    for (const version of [...this.#room.versions]) {
      if (!version.removed && (version.seats.length > 0 || this.#tables.hasWeight(version))) continue;
      for (const lease of waitingFor(version)) this.#rehome(lease, nowMs);
    }
    this.#tables.confirm(plan);
  }

  /**
   * Admits a request: a lease that is charged to its seat and can be sent, or one that waits (`seat` is null), or why
   * neither. Requests in line are not overtaken.
   */
  admit(endpointName: EndpointName, request: R, nowMs: number): Lease<R> | Refusal {
    const endpoint = this.#tables.endpoint(endpointName);
    if (endpoint === undefined) return "unknown-endpoint";
    const version = this.#chooseVersion(endpoint);
    if (version === null) return "no-version";
    const lease = new Lease(request, endpoint, version, nowMs);
    version.budget.arrived(nowMs);
    const seat = this.#room.anyInLine(version) ? null : this.#balancer.claim(version, lease, nowMs);
    const waits = seat === null && this.#room.reserve(endpoint, request);
    this.#counters.open(version.slot, nowMs);
    this.#counters.add(version.slot, COUNTER.arrivals, 1);
    if (seat !== null) this.#begin(lease, seat, nowMs);
    else if (waits) {
      lease.waitUntilMs = nowMs + endpoint.queue.maxWaitMs;
      lease.risingEdge = this.#room.enter(lease, "line");
    } else this.#counters.add(version.slot, COUNTER.turnedAway, 1);
    this.#counters.close(version.slot);
    return seat !== null || waits ? lease : "queue-full";
  }

  /** The next waiting lease that now holds a seat and is to be sent, or null. */
  takeReady(nowMs: number): Lease<R> | null {
    for (const version of this.#room.versions) {
      const lease = this.#readyAgain(version, nowMs) ?? this.#readyInLine(version, nowMs);
      if (lease !== null) return lease;
    }
    return null;
  }

  /** The next waiting lease whose time is up, settled and counted as turned away for capacity, or null. */
  takeExpired(nowMs: number): Lease<R> | null {
    for (const version of this.#room.versions) {
      for (const lease of [version.line.deadlines.first, version.again.first]) {
        if (lease === null || lease.waitUntilMs > nowMs) continue;
        this.settle(lease, "timed-out", nowMs);
        return lease;
      }
    }
    return null;
  }

  /** When to look again although nothing happened; Infinity when nothing waits. */
  wakeAtMs(nowMs: number): number {
    let wakeAtMs = this.anyWaiting ? nowMs + LOOK_AGAIN_MS : Number.POSITIVE_INFINITY;
    for (const { line, again } of this.#room.versions) {
      wakeAtMs = Math.min(
        wakeAtMs,
        line.deadlines.first?.waitUntilMs ?? wakeAtMs,
        again.first?.waitUntilMs ?? wakeAtMs,
      );
    }
    return wakeAtMs;
  }

  /** An answer that is no fault has begun. */
  firstByte(lease: Lease<R>, nowMs: number): void {
    if (lease.settled || lease.seat === null) return;
    if (this.#faults.succeeded(lease, lease.seat.slot, nowMs)) this.#room.offer(lease.version);
    if (lease.firstByteSeen) return;
    lease.firstByteSeen = true;
    const { slot } = lease.version;
    this.#counters.open(slot, nowMs);
    this.#counters.add(slot, COUNTER.firstByteMs, nowMs - lease.arrivedAtMs);
    this.#counters.observe(slot, COUNTER.firstByteBuckets, nowMs - lease.arrivedAtMs);
    this.#counters.close(slot);
  }

  /** A further piece of an answer came: while a replica progresses, time-outs of its other requests are load and no faults. */
  progressed(lease: Lease<R>, nowMs: number): void {
    if (lease.seat !== null) this.#faults.progressed(lease.seat.slot, nowMs);
  }

  /** Counts a fault of the replica that holds the lease. The lease stays as it is: retry or settle comes next. */
  fault(lease: Lease<R>, kind: FaultKind, nowMs: number): FaultVerdict {
    assert(lease.seat !== null && !lease.settled, "a fault needs a lease that holds a seat");
    return this.#faults.fault(lease, lease.seat.slot, lease.version, kind, nowMs);
  }

  /**
   * After a fault: takes the lease to another replica, or to wait for one. `denied` when the client has part of the
   * answer, the replica saw a request that must not be repeated, it was sent again twice, or the retry budget is spent.
   */
  retry(lease: Lease<R>, progress: { readonly sent: boolean; readonly answerBegun: boolean }, nowMs: number): Moved {
    if (progress.answerBegun || lease.retries >= MAX_RETRIES) return "denied";
    if (progress.sent && !lease.request.mayRepeat) return "denied";
    const { budget, slot } = lease.version;
    if (!budget.allows(nowMs)) return "denied";
    const moved = this.#moveAway(lease, FAULT_PAUSE_MS, nowMs);
    if (moved === "denied") return moved;
    budget.spend(nowMs);
    lease.retries++;
    this.#counters.open(slot, nowMs);
    this.#counters.add(slot, COUNTER.retries, 1);
    this.#counters.close(slot);
    return moved;
  }

  /** The replica refused before doing any work: picks again, with no fault and no retry counted. Bounded by the wait. */
  refused(lease: Lease<R>, nowMs: number): Moved {
    return this.#moveAway(lease, REFUSAL_PAUSE_MS, nowMs);
  }

  /** Ends the lease, whether it is charged or waits. The first call wins and returns true; later ones change nothing. */
  settle(lease: Lease<R>, outcome: Outcome, nowMs: number): boolean {
    if (lease.settled) return false;
    lease.settled = true;
    const { version, seat } = lease;
    const { slot } = version;
    if (seat !== null) {
      if (outcome === "completed") this.#faults.succeeded(lease, seat.slot, nowMs);
      this.#faults.abandonProbe(lease, seat.slot);
    }
    this.#counters.open(slot, nowMs);
    if (seat === null) {
      this.#room.leave(lease, false);
      this.#room.unreserve(lease.endpoint, lease.request);
      this.#counters.add(slot, outcome === "timed-out" ? COUNTER.turnedAway : OUTCOME_COUNTER[outcome], 1);
    } else {
      this.#end(lease, seat);
      this.#counters.add(slot, OUTCOME_COUNTER[outcome], 1);
      if (outcome === "completed") {
        this.#counters.add(slot, COUNTER.serviceMs, nowMs - lease.sentAtMs);
        this.#counters.observe(slot, COUNTER.serviceBuckets, nowMs - lease.sentAtMs);
      }
    }
    this.#counters.close(slot);
    if (seat !== null) this.#room.offer(version);
    return true;
  }

  #chooseVersion(endpoint: EndpointTable<R>): VersionTable<R> | null {
    const { split } = endpoint;
    if (split.length < 2) return split[0]?.version ?? null;
    let total = 0;
    for (const part of split) total += part.weight;
    let left = this.#uniform() * total;
    for (const part of split) {
      left -= part.weight;
      if (left < 0) return part.version;
    }
    return split[split.length - 1]!.version;
  }

  /** Requests that lost a seat come first: they are old, few, and each may be kept from a seat that others can use. */
  #readyAgain(version: VersionTable<R>, nowMs: number): Lease<R> | null {
    for (let lease = version.again.first; lease !== null; lease = lease.nextByAge) {
      const seat = this.#balancer.claim(version, lease, nowMs);
      if (seat !== null) return this.#send(lease, seat, nowMs);
      // One that may use any seat found none: no other will.
      if (nowMs >= lease.triedUntilMs) return null;
    }
    return null;
  }

  #readyInLine(version: VersionTable<R>, nowMs: number): Lease<R> | null {
    const lease = version.line.peek();
    if (lease === null) return null;
    if (this.#room.entitled(version) !== this.#thread) {
      if (this.#balancer.hasRoom(version, lease, nowMs)) this.#room.offer(version);
      return null;
    }
    const seat = this.#balancer.claim(version, lease, nowMs);
    if (seat === null) return null;
    this.#room.passTurn(version);
    this.#send(lease, seat, nowMs);
    this.#room.offer(version);
    return lease;
  }

  #send(lease: Lease<R>, seat: Seat, nowMs: number): Lease<R> {
    const { slot } = lease.version;
    this.#counters.open(slot, nowMs);
    this.#room.leave(lease, true);
    this.#room.unreserve(lease.endpoint, lease.request);
    this.#begin(lease, seat, nowMs);
    this.#counters.close(slot);
    return lease;
  }

  /** Requires: the cost is charged to `seat`, and the counters are open. */
  #begin(lease: Lease<R>, seat: Seat, nowMs: number): void {
    lease.seat = seat;
    lease.sentAtMs = nowMs;
    const row = this.#memory.inFlight[this.#thread]!;
    row[lease.version.slot] = row[lease.version.slot]! + 1;
  }

  /** Requires: the counters are open. */
  #end(lease: Lease<R>, seat: Seat): void {
    this.#balancer.release(seat, lease.request.cost);
    lease.seat = null;
    const row = this.#memory.inFlight[this.#thread]!;
    row[lease.version.slot] = row[lease.version.slot]! - 1;
  }

  #moveAway(lease: Lease<R>, pauseMs: number, nowMs: number): Moved {
    const { version, seat } = lease;
    if (lease.settled || seat === null) return "denied";
    this.#faults.abandonProbe(lease, seat.slot);
    if (lease.tried === null || nowMs >= lease.triedUntilMs) lease.tried = [];
    lease.tried.push(seat);
    lease.triedUntilMs = nowMs + pauseMs;
    const other = version.removed ? null : this.#balancer.claim(version, lease, nowMs);
    if (other === null && (lease.endpoint.removed || !this.#room.reserve(lease.endpoint, lease.request)))
      return "denied";
    this.#counters.open(version.slot, nowMs);
    this.#end(lease, seat);
    if (other !== null) this.#begin(lease, other, nowMs);
    else {
      if (lease.waitUntilMs === 0) lease.waitUntilMs = nowMs + lease.endpoint.queue.maxWaitMs;
      this.#room.enter(lease, "again");
    }
    this.#counters.close(version.slot);
    if (version.removed) this.#rehome(lease, nowMs);
    this.#room.offer(version);
    return other !== null ? "moved" : "waiting";
  }

  #rehome(lease: Lease<R>, nowMs: number): void {
    const from = lease.version;
    const { endpoint } = lease;
    const to = this.#chooseVersion(endpoint);
    if (to === null && !endpoint.removed) return;
    this.#counters.open(from.slot, nowMs);
    const list = lease.waitsIn!;
    this.#room.leave(lease, false);
    if (endpoint.removed) {
      lease.waitUntilMs = nowMs;
      this.#room.enter(lease, list);
    }
    if (to !== null) this.#counters.add(from.slot, COUNTER.rehomed, 1);
    this.#counters.close(from.slot);
    if (to === null) return;
    lease.version = to;
    this.#counters.open(to.slot, nowMs);
    // A version that left and came back has its slot, and so its counters, again.
    this.#counters.add(
      to.slot,
      to.slot === from.slot ? COUNTER.rehomed : COUNTER.arrivals,
      to.slot === from.slot ? -1 : 1,
    );
    this.#room.enter(lease, list);
    this.#counters.close(to.slot);
  }
}

/** All that waits for a version, those that lost a seat first. */
function waitingFor<R extends Asked>(version: VersionTable<R>): Lease<R>[] {
  const leases: Lease<R>[] = [];
  for (const list of [version.again, version.line.deadlines]) {
    for (let lease = list.first; lease !== null; lease = lease.nextByAge) leases.push(lease);
  }
  return leases;
}
