import { assert } from "../../core/assert.ts";
import type { Epoch, ReplicaId, VersionId } from "../../domain/names.ts";
import type { Snapshot } from "../../domain/snapshot.ts";
import type { FlowMemory } from "./memory.ts";

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

  /** Frees leaving slots that are `idle`, the longest gone first, until `wanted` are free. */
  reclaim(wanted: number, idle: (slot: number, leftWith: number) => boolean): void {
    for (const [owner, { slot, leftWith }] of this.#leaving) {
      if (this.#free.length >= wanted) return;
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

  /** The plan for a snapshot. Cost: linear in its rows. */
  plan(snapshot: Snapshot): SlotPlan {
    this.#number++;
    assert(snapshot.generation !== undefined, "not built yet");
    return {
      number: this.#number,
      snapshot,
      endpointSlots: [],
      versionSlots: [],
      replicaSlots: [],
      lingering: [],
    };
  }
}

/** Names one start of one replica. */
export type SeatKey = `${ReplicaId}@${Epoch}`;
/** Names a version or endpoint pool's owner. */
export type OwnerKey = VersionId;
