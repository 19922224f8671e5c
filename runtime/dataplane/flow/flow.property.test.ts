import fc from "fast-check";
import { expect, test } from "vitest";
import type { Snapshot } from "../../domain/snapshot.ts";
import { SEAT_STATE } from "./faults.ts";
import { ask, Stand, snapshot, version } from "./fixture.ts";
import { FlowThread } from "./flow-thread.ts";
import type { Asked, FaultKind, Lease, Outcome } from "./lease.ts";
import { readLoad, retireThread } from "./load.ts";

const THREADS = 3;
const VERSIONS = ["v1", "v2"] as const;

type Step =
  | { readonly do: "admit"; readonly thread: number; readonly workload: string }
  | { readonly do: "settle"; readonly pick: number; readonly outcome: Outcome }
  | { readonly do: "fault"; readonly pick: number; readonly kind: FaultKind; readonly sent: boolean }
  | { readonly do: "refused"; readonly pick: number }
  | { readonly do: "firstByte"; readonly pick: number }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "kill"; readonly thread: number }
  | { readonly do: "plan"; readonly snapshot: Snapshot };

const pick = fc.nat();
const thread = fc.nat(THREADS - 1);
const replicaNames = (id: string) =>
  fc.subarray([0, 1, 2].flatMap((n) => [`${id}-${n}@1`, `-${id}-${n}@2`, `${id}-${n}@2`]));
const plans: fc.Arbitrary<Snapshot> = fc
  .record({
    rows: fc
      .subarray([...VERSIONS], { minLength: 0 })
      .chain((ids) =>
        fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), fc.integer({ min: 1, max: 4 }), replicaNames(id)))),
      ),
    weight: fc.integer({ min: 0, max: 100 }),
    maxRequests: fc.integer({ min: 0, max: 12 }),
    maxWaitMs: fc.constantFrom(0, 50, 5_000, 60_000),
  })
  .map(({ rows, weight, ...queue }) =>
    snapshot(
      // One id may be drawn twice with different epochs: a replica is listed once, with its newest.
      rows.map(([id, cap, replicas]) =>
        version(id, cap, [...new Map(replicas.map((r) => [r.replace(/^-|@.*/g, ""), r])).values()]),
      ),
      rows.length === 2 ? [weight, 100 - weight] : [100],
      queue,
    ),
  );
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({ do: fc.constant("admit" as const), thread, workload: fc.constantFrom("a", "b") }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant("settle" as const),
        pick,
        outcome: fc.constantFrom<Outcome>("completed", "completed", "failed", "client-gone", "timed-out", "cancelled"),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("fault" as const),
        pick,
        kind: fc.constantFrom<FaultKind>("connect-refused", "connect-timeout", "reset", "error-status", "timeout"),
        sent: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("refused" as const), pick }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("firstByte" as const), pick }) },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.oneof(fc.nat(30), fc.nat(3_000)) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("kill" as const), thread }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("plan" as const), snapshot: plans }) },
  ),
  { minLength: 20, maxLength: 150 },
);

interface Counts {
  arrivals: number;
  completed: number;
  failed: number;
  turnedAwayForCapacity: number;
  clientGone: number;
  retries: number;
  inFlightMsTotal: number;
  queuedMsTotal: number;
}

/** The slow reference: the set of live leases, and sums taken over all of them at every step. */
class World {
  readonly stand: Stand;
  readonly live = new Map<Lease<Asked>, number>();
  readonly counts = new Map<string, Counts>();
  readonly #bells = new Int32Array(THREADS);

  constructor(first: Snapshot, seed: number) {
    this.stand = new Stand(first, { threads: THREADS, seed });
  }

  run(step: Step): void {
    const { stand } = this;
    if (step.do === "admit") this.#admit(step.thread, step.workload);
    else if (step.do === "advance") this.#advance(step.ms);
    else if (step.do === "kill") this.#kill(step.thread);
    else if (step.do === "plan") {
      const before = new Map([...this.live.keys()].map((lease) => [lease, lease.version.id]));
      stand.apply(step.snapshot);
      for (const [lease, id] of before) if (lease.version.id !== id) this.#of(lease).arrivals++;
      for (let index = 0; index < THREADS; index++) this.#pump(index);
    } else this.#onLease(step);
    this.#answerBells();
    this.check();
  }

  end(): void {
    for (const [lease, owner] of this.live) {
      this.stand.threads[owner]!.settle(lease, "cancelled", this.stand.nowMs);
      this.#of(lease).clientGone++;
    }
    this.live.clear();
    this.check();
    const { memory } = this.stand;
    const gauges = [memory.total, memory.waiting, memory.places, memory.kib, memory.prober];
    const rows = [
      memory.charged,
      memory.inFlight,
      memory.queued,
      memory.inLine,
      memory.heldPlaces,
      memory.heldKib,
    ].flat();
    for (const column of [...gauges, ...rows]) expect(column.every((cell) => cell === 0)).toBe(true);
  }

  check(): void {
    const { memory, plan, nowMs } = this.stand;
    const expected = new Int32Array(memory.replicaSlots);
    for (const lease of this.live.keys()) if (lease.seat !== null) expected[lease.seat.slot]! += lease.request.cost;
    expect(memory.total).toEqual(expected);
    const load = readLoad(memory, plan, nowMs);
    for (const row of load.versions) {
      const leases = [...this.live.keys()].filter((lease) => lease.version.id === row.version);
      const inFlight = leases.filter((lease) => lease.seat !== null).length;
      expect(row).toMatchObject({ ...this.#counts(row.version), inFlight, queued: leases.length - inFlight });
    }
    this.#checkNoRoomIsIdle();
  }

  /** While a request is in line, no replica in service has room: whoever freed it told the thread that it belongs to. */
  #checkNoRoomIsIdle(): void {
    const { memory, plan } = this.stand;
    for (const [index, row] of plan.snapshot.versions.entries()) {
      if (memory.waiting[plan.versionSlots[index]!] === 0) continue;
      for (const [position, replica] of row.replicas.entries()) {
        const slot = plan.replicaSlots[index]![position]!;
        const inService = !replica.draining && memory.state[slot] === SEAT_STATE.inService;
        if (inService) expect(memory.total[slot]).toBeGreaterThanOrEqual(row.hardCap);
      }
    }
  }

  #admit(thread: number, workload: string): void {
    const lease = this.stand.threads[thread]!.admit("e", ask({ workload }), this.stand.nowMs);
    if (lease === "queue-full") this.#turnedAway();
    if (typeof lease === "string") return;
    this.live.set(lease, thread);
    this.#of(lease).arrivals++;
    if (lease.seat !== null) this.#sent(lease);
    this.#pump(thread);
  }

  /** Which version a request was turned away from shows only in the counters: it must be exactly one, by exactly one. */
  #turnedAway(): void {
    const { memory, plan, nowMs } = this.stand;
    const changed = readLoad(memory, plan, nowMs).versions.filter(
      (row) => row.turnedAwayForCapacity !== this.#counts(row.version).turnedAwayForCapacity,
    );
    expect(changed).toHaveLength(1);
    const counts = this.#counts(changed[0]!.version);
    counts.turnedAwayForCapacity++;
    counts.arrivals++;
  }

  #onLease(step: Extract<Step, { pick: number }>): void {
    const leases = [...this.live.keys()];
    const lease = leases[step.pick % Math.max(1, leases.length)];
    if (lease === undefined) return;
    const owner = this.live.get(lease)!;
    const flow = this.stand.threads[owner]!;
    const { nowMs } = this.stand;
    const versionBefore = lease.version.id;
    if (step.do === "settle") this.#settle(lease, owner, step.outcome);
    else if (lease.seat === null) return;
    else if (step.do === "firstByte") flow.firstByte(lease, nowMs);
    else if (step.do === "refused") {
      const moved = flow.refused(lease, nowMs);
      if (moved === "moved") this.#sent(lease);
    } else {
      const home = this.#of(lease);
      const verdict = flow.fault(lease, step.kind, nowMs);
      if (step.kind === "connect-refused") expect(verdict).not.toBe("ignored");
      const from = lease.seat;
      const moved = flow.retry(lease, { sent: step.sent, answerBegun: lease.firstByteSeen }, nowMs);
      if (moved === "denied") this.#settle(lease, owner, "failed");
      else home.retries++;
      if (moved === "moved") {
        expect(lease.seat).not.toBe(from);
        this.#sent(lease);
      }
      expect(lease.retries).toBeLessThanOrEqual(2);
    }
    if (lease.version.id !== versionBefore) this.#of(lease).arrivals++;
    this.#pump(owner);
  }

  #settle(lease: Lease<Asked>, owner: number, outcome: Outcome): void {
    const counts = this.#of(lease);
    if (outcome === "completed") counts.completed++;
    else if (outcome === "failed") counts.failed++;
    else if (outcome === "timed-out" && lease.seat === null) counts.turnedAwayForCapacity++;
    else if (outcome === "timed-out") counts.failed++;
    else counts.clientGone++;
    expect(this.stand.threads[owner]!.settle(lease, outcome, this.stand.nowMs)).toBe(true);
    expect(this.stand.threads[owner]!.settle(lease, "failed", this.stand.nowMs)).toBe(false);
    this.live.delete(lease);
  }

  #advance(ms: number): void {
    for (const lease of this.live.keys()) {
      const counts = this.#of(lease);
      if (lease.seat === null) counts.queuedMsTotal += ms;
      else counts.inFlightMsTotal += ms;
    }
    this.stand.nowMs += ms;
    for (let index = 0; index < THREADS; index++) this.#pump(index);
  }

  #kill(thread: number): void {
    const { stand } = this;
    for (const [lease, owner] of this.live) {
      if (owner !== thread) continue;
      this.#of(lease).failed++;
      this.live.delete(lease);
    }
    retireThread(stand.memory, thread, stand.nowMs);
    stand.threads[thread] = new FlowThread(stand.memory, thread, stand.uniform);
    stand.threads[thread].applyPlan(stand.plan, stand.nowMs);
  }

  #pump(thread: number): void {
    this.#bells[thread] = this.stand.memory.doorbell[thread]!;
    for (const lease of this.stand.ready(thread)) this.#sent(lease);
    const flow = this.stand.threads[thread]!;
    for (let late = flow.takeExpired(this.stand.nowMs); late !== null; late = flow.takeExpired(this.stand.nowMs)) {
      expect(late.waitUntilMs).toBeLessThanOrEqual(this.stand.nowMs);
      this.#of(late).turnedAwayForCapacity++;
      this.live.delete(late);
    }
  }

  #answerBells(): void {
    for (let rung = true; rung; ) {
      rung = false;
      for (let index = 0; index < THREADS; index++) {
        if (this.stand.memory.doorbell[index] === this.#bells[index]) continue;
        this.#pump(index);
        rung = true;
      }
    }
  }

  /** What must hold of every request at the moment it is sent. */
  #sent(lease: Lease<Asked>): void {
    const { snapshot: shown, versionSlots, replicaSlots } = this.stand.plan;
    const seat = lease.seat!;
    const index = shown.versions.findIndex((row) => row.id === lease.version.id);
    expect(versionSlots[index]).toBe(lease.version.slot);
    const position = replicaSlots[index]!.indexOf(seat.slot);
    const replica = shown.versions[index]!.replicas[position]!;
    expect(replica).toMatchObject({ id: seat.replica, epoch: seat.epoch, draining: false });
    expect(this.stand.memory.total[seat.slot]).toBeLessThanOrEqual(shown.versions[index]!.hardCap);
    if (this.stand.nowMs < lease.triedUntilMs) expect(lease.tried).not.toContain(seat);
  }

  #of(lease: Lease<Asked>): Counts {
    return this.#counts(lease.version.id);
  }

  #counts(id: string): Counts {
    let counts = this.counts.get(id);
    if (counts === undefined) {
      counts = {
        arrivals: 0,
        completed: 0,
        failed: 0,
        turnedAwayForCapacity: 0,
        clientGone: 0,
        retries: 0,
        inFlightMsTotal: 0,
        queuedMsTotal: 0,
      };
      this.counts.set(id, counts);
    }
    return counts;
  }
}

test("counts, charges and waiting equal sums over the live leases, through faults, retries, new plans and dying threads", () => {
  fc.assert(
    fc.property(plans, steps, fc.nat(), (first, script, seed) => {
      const world = new World(first, seed);
      for (const step of script) world.run(step);
      world.end();
    }),
    { numRuns: 300 },
  );
});
