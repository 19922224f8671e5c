import type { Epoch, ReplicaId } from "../../domain/names.ts";
import type { Snapshot } from "../../domain/snapshot.ts";
import { COUNTER_CELLS, type FlowMemory } from "./memory.ts";

/** Which cells belong to what, made by main and sent to the threads as it is (plain data). */
export interface SlotPlan {
  /** Grows by 1 with each plan of this memory, from 1. */
  readonly number: number;
  readonly snapshot: Snapshot;
  /** Parallel to snapshot.endpoints; -1 = no slot left. */
  readonly endpointSlots: readonly number[];
  /** Parallel to snapshot.versions; -1 = no slot left. */
  readonly versionSlots: readonly number[];
  /** Parallel to snapshot.versions and their replicas; -1 = no slot left. */
  readonly replicaSlots: readonly (readonly number[])[];
  /** Replicas that are in the snapshot no more and whose slots are not known to be idle. */
  readonly lingering: readonly LingeringReplica[];
}

/** A replica epoch that left the snapshot, with its slot. */
export interface LingeringReplica {
  readonly replica: ReplicaId;
  readonly epoch: Epoch;
  readonly slot: number;
}

/** Slots of one kind, by owner. */
class SlotPool {
  readonly #owners = new Map<string, number>();
  readonly #free: number[];
  /** Left the snapshot with that plan number; oldest first. */
  readonly #leaving = new Map<string, { readonly slot: number; readonly leftWith: number }>();

  constructor(size: number) {
    this.#free = Array.from({ length: size }, (_, index) => size - 1 - index);
  }

  get leaving(): ReadonlyMap<string, { readonly slot: number; readonly leftWith: number }> {
    return this.#leaving;
  }

  /** The owner's slot; `taken` is told of a slot that is new to it. Back from leaving, it gets its old slot. -1: none left. */
  take(owner: string, taken: (slot: number) => void): number {
    const held = this.#owners.get(owner);
    if (held !== undefined) return held;
    const back = this.#leaving.get(owner);
    if (back !== undefined) {
      this.#leaving.delete(owner);
      this.#owners.set(owner, back.slot);
      return back.slot;
    }
    const slot = this.#free.pop();
    if (slot === undefined) return -1;
    this.#owners.set(owner, slot);
    taken(slot);
    return slot;
  }

  /** Marks owners that are not in `present` as leaving. */
  keepOnly(present: ReadonlySet<string>, planNumber: number): void {
    for (const [owner, slot] of this.#owners) {
      if (present.has(owner)) continue;
      this.#owners.delete(owner);
      this.#leaving.set(owner, { slot, leftWith: planNumber });
    }
  }

  /** Frees leaving slots that are `idle`, the longest gone first, until `present` owners could have one each. */
  reclaim(present: number, idle: (slot: number, leftWith: number) => boolean): void {
    for (const [owner, { slot, leftWith }] of this.#leaving) {
      if (this.#free.length + this.#owners.size >= present) return;
      if (!idle(slot, leftWith)) continue;
      this.#leaving.delete(owner);
      this.#free.push(slot);
    }
  }
}

/**
 * Gives slots of a flow memory to replica epochs, versions and endpoints; lives in the main thread, the only caller.
 * A slot whose owner left is used again only once no thread can still reach it: every live thread has applied a plan
 * without it, and all its cells are 0. Versions keep their slot as long as there are others, so that a version that
 * comes back goes on counting where it was.
 */
export class SlotPlanner {
  readonly #memory: FlowMemory;
  readonly #replicas: SlotPool;
  readonly #versions: SlotPool;
  readonly #endpoints: SlotPool;
  #number = 0;

  constructor(memory: FlowMemory) {
    this.#memory = memory;
    this.#replicas = new SlotPool(memory.replicaSlots);
    this.#versions = new SlotPool(memory.versionSlots);
    this.#endpoints = new SlotPool(memory.versionSlots);
  }

  /** The plan for a snapshot. A slot of -1 means that the memory was made too small: what it stands for gets no requests. Cost: linear in its rows. */
  plan(snapshot: Snapshot): SlotPlan {
    const number = ++this.#number;
    const { versions, endpoints } = snapshot;
    const seatsOf = versions.map((version) => version.replicas.map((replica) => seatKey(replica)));
    const seats = seatsOf.flat();
    this.#replicas.keepOnly(new Set(seats), number);
    this.#versions.keepOnly(new Set(versions.map((version) => version.id)), number);
    this.#endpoints.keepOnly(new Set(endpoints.map((endpoint) => endpoint.name)), number);
    this.#replicas.reclaim(Number.POSITIVE_INFINITY, (slot, leftWith) => this.#replicaIsIdle(slot, leftWith));
    this.#versions.reclaim(versions.length, (slot, leftWith) => this.#versionIsIdle(slot, leftWith));
    this.#endpoints.reclaim(endpoints.length, (slot, leftWith) => this.#endpointIsIdle(slot, leftWith));
    const endpointSlots = endpoints.map((endpoint) => this.#endpoints.take(endpoint.name, () => {}));
    const versionSlots = versions.map((version) => this.#versions.take(version.id, (slot) => this.#clearVersion(slot)));
    const replicaSlots = seatsOf.map((keys) =>
      keys.map((key) => this.#replicas.take(key, (slot) => this.#clearReplica(slot))),
    );
    const lingering = [...this.#replicas.leaving].map(([key, { slot }]) => ({ ...seatOfKey(key), slot }));
    return { number, snapshot, endpointSlots, versionSlots, replicaSlots, lingering };
  }

  #allApplied(planNumber: number): boolean {
    const { appliedPlan, threads } = this.#memory;
    for (let thread = 0; thread < threads; thread++) {
      if (Atomics.load(appliedPlan, thread) < planNumber) return false;
    }
    return true;
  }

  #replicaIsIdle(slot: number, leftWith: number): boolean {
    const { total, charged } = this.#memory;
    return this.#allApplied(leftWith) && Atomics.load(total, slot) === 0 && charged.every((row) => row[slot] === 0);
  }

  #versionIsIdle(slot: number, leftWith: number): boolean {
    const { inFlight, queued } = this.#memory;
    return this.#allApplied(leftWith) && [...inFlight, ...queued].every((row) => Atomics.load(row, slot) === 0);
  }

  #endpointIsIdle(slot: number, leftWith: number): boolean {
    return this.#allApplied(leftWith) && Atomics.load(this.#memory.places, slot) === 0;
  }

  #clearReplica(slot: number): void {
    const { total, state, faultRun, outCount, prober, faults, outUntilMs, progressMs } = this.#memory;
    for (const column of [total, state, faultRun, outCount, prober, faults, outUntilMs, progressMs]) column[slot] = 0;
  }

  #clearVersion(slot: number): void {
    const { turn, counters } = this.#memory;
    turn[slot] = 0;
    for (const row of counters) row.fill(0, slot * COUNTER_CELLS, (slot + 1) * COUNTER_CELLS);
  }
}

function seatKey(replica: { readonly id: ReplicaId; readonly epoch: Epoch }): string {
  return `${replica.epoch} ${replica.id}`;
}

function seatOfKey(key: string): { readonly replica: ReplicaId; readonly epoch: Epoch } {
  const space = key.indexOf(" ");
  return { replica: key.slice(space + 1), epoch: Number(key.slice(0, space)) };
}
