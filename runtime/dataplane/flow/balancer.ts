import type { Uniform } from "../../core/prng.ts";
import type { Faults } from "./faults.ts";
import type { Asked, Lease, Seat, VersionTable } from "./lease.ts";
import type { FlowMemory } from "./memory.ts";

/**
 * Picks and charges seats. Load is the `total` column: what all threads have in flight on a replica. A charge is a
 * compare-exchange on it, so the hard cap holds exactly between threads; the thread's own `charged` row beside it says
 * what to give back when the thread dies.
 */
export class Balancer {
  readonly #total: Int32Array;
  readonly #state: Int32Array;
  readonly #charged: Int32Array;
  readonly #faults: Faults;
  readonly #uniform: Uniform;

  constructor(memory: FlowMemory, thread: number, faults: Faults, uniform: Uniform) {
    this.#total = memory.total;
    this.#state = memory.state;
    this.#charged = memory.charged[thread]!;
    this.#faults = faults;
    this.#uniform = uniform;
  }

  /**
   * Charges the request's cost to the least loaded seat that has room, or returns null. The lease is changed only by
   * `probing`. Cost: one or two scans of the version's seats; it goes round again only when another thread just took the place.
   */
  claim<R extends Asked>(version: VersionTable<R>, lease: Lease<R>, nowMs: number): Seat | null {
    for (;;) {
      const index = this.#pick(version, lease, nowMs);
      if (index < 0) return null;
      const slot = version.slots[index]!;
      if (!this.#faults.claimProbe(slot, version, lease, nowMs)) continue;
      const seat = version.seats[index]!;
      if (this.#charge(slot, lease.request.cost, version.hardCap)) return seat;
      this.#faults.abandonProbe(lease, slot);
    }
  }

  /** Whether the request could be charged somewhere now. */
  hasRoom<R extends Asked>(version: VersionTable<R>, lease: Lease<R>, nowMs: number): boolean {
    return this.#pick(version, lease, nowMs) >= 0;
  }

  /** Gives back a charge. It touches only the seat's own epoch's slot. */
  release(seat: Seat, cost: number): void {
    // Nothing may come between these two lines that can throw, allocate or call: a thread never ends between them.
    Atomics.sub(this.#total, seat.slot, cost);
    this.#charged[seat.slot] = this.#charged[seat.slot]! - cost;
  }

  /**
   * Index of the seat with the least in flight, ties at random; -1 when none has room. All replicas of a version have
   * one capacity today, so the least in flight is the least (in flight + cost) / capacity.
   * Plain reads: an Atomics.load is a call (14 times as slow, measured), and the charge checks what was read.
   */
  #pick<R extends Asked>(version: VersionTable<R>, lease: Lease<R>, nowMs: number): number {
    const { slots } = version;
    const total = this.#total;
    const state = this.#state;
    const cost = lease.request.cost;
    const avoids = lease.tried !== null;
    let least = version.hardCap - cost;
    // A request that alone is over the cap gets an idle replica, or it would wait for ever.
    if (least < 0) least = 0;
    let ties = 0;
    let found = -1;
    for (let index = 0; index < slots.length; index++) {
      const slot = slots[index]!;
      const load = total[slot]!;
      if (load > least) continue;
      if ((avoids || state[slot] !== 0) && !this.#open(version, index, slot, lease, nowMs)) continue;
      if (load < least || ties === 0) {
        least = load;
        ties = 1;
        found = index;
      } else ties++;
    }
    if (ties < 2) return found;
    let skip = Math.floor(this.#uniform() * ties);
    for (let index = 0; index < slots.length; index++) {
      const slot = slots[index]!;
      if (total[slot] !== least) continue;
      if ((avoids || state[slot] !== 0) && !this.#open(version, index, slot, lease, nowMs)) continue;
      if (skip-- === 0) return index;
    }
    // Another thread changed the loads between the scans: the first of the ties is as good.
    return found;
  }

  #open<R extends Asked>(
    version: VersionTable<R>,
    index: number,
    slot: number,
    lease: Lease<R>,
    nowMs: number,
  ): boolean {
    if (this.#state[slot] !== 0 && !this.#faults.mayTry(slot, version, nowMs)) return false;
    return lease.tried === null || nowMs >= lease.triedUntilMs || !lease.tried.includes(version.seats[index]!);
  }

  #charge(slot: number, cost: number, hardCap: number): boolean {
    for (;;) {
      const load = this.#total[slot]!;
      if (load > 0 && load + cost > hardCap) return false;
      // As in release: the two lines that change state stand together.
      if (Atomics.compareExchange(this.#total, slot, load, load + cost) !== load) continue;
      this.#charged[slot] = this.#charged[slot]! + cost;
      return true;
    }
  }
}
