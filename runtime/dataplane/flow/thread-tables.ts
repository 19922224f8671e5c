import type { EndpointName, VersionId } from "../../domain/names.ts";
import type { SnapshotVersion } from "../../domain/snapshot.ts";
import { type Asked, EndpointTable, type Seat, VersionTable } from "./lease.ts";
import type { FlowMemory } from "./memory.ts";
import type { SlotPlan } from "./slots.ts";

/** The endpoints, versions and seats of the newest plan, as one thread sees them. Rows that stay keep their objects. */
export class ThreadTables<R extends Asked> {
  readonly #memory: FlowMemory;
  readonly #thread: number;
  #planNumber = 0;
  #endpoints = new Map<EndpointName, EndpointTable<R>>();
  #versions = new Map<VersionId, VersionTable<R>>();
  #seats = new Map<number, Seat>();

  constructor(memory: FlowMemory, thread: number) {
    this.#memory = memory;
    this.#thread = thread;
  }

  endpoint(name: EndpointName): EndpointTable<R> | undefined {
    return this.#endpoints.get(name);
  }

  /** Whether the version's endpoint sends it new requests. */
  hasWeight(version: VersionTable<R>): boolean {
    return this.#endpoints.get(version.endpoint)?.split.some((part) => part.version === version) ?? false;
  }

  /** Takes a plan; false when a newer one was taken already. Cost: linear in its rows. */
  apply(plan: SlotPlan): boolean {
    if (plan.number <= this.#planNumber) return false;
    this.#planNumber = plan.number;
    this.#applyVersions(plan);
    this.#applyEndpoints(plan);
    return true;
  }

  /** Tells main that this thread holds nothing any more that the plan left out. */
  confirm(plan: SlotPlan): void {
    Atomics.store(this.#memory.appliedPlan, this.#thread, plan.number);
  }

  #applyVersions(plan: SlotPlan): void {
    const versions = new Map<VersionId, VersionTable<R>>();
    const seats = new Map<number, Seat>();
    for (const [index, row] of plan.snapshot.versions.entries()) {
      const slot = plan.versionSlots[index]!;
      if (slot < 0) continue;
      const held = this.#versions.get(row.id);
      const table = held?.slot === slot ? held : new VersionTable<R>(row.id, row.endpoint, slot);
      table.hardCap = row.hardCap;
      this.#applySeats(table, row, plan.replicaSlots[index]!, seats);
      versions.set(row.id, table);
    }
    for (const [id, table] of this.#versions) {
      if (versions.get(id) === table) continue;
      table.removed = true;
      table.seats = [];
      table.slots = new Int32Array(0);
    }
    this.#versions = versions;
    this.#seats = seats;
  }

  #applySeats(
    table: VersionTable<R>,
    row: SnapshotVersion,
    replicaSlots: readonly number[],
    all: Map<number, Seat>,
  ): void {
    const open: Seat[] = [];
    for (const [index, replica] of row.replicas.entries()) {
      const slot = replicaSlots[index]!;
      if (slot < 0) continue;
      const held = this.#seats.get(slot);
      const seat =
        held?.replica === replica.id && held.epoch === replica.epoch
          ? held
          : {
              replica: replica.id,
              epoch: replica.epoch,
              version: row.id,
              address: replica.address,
              basePath: replica.basePath,
              slot,
            };
      all.set(slot, seat);
      if (!replica.draining) open.push(seat);
    }
    table.seats = open;
    table.slots = Int32Array.from(open, (seat) => seat.slot);
    table.panicReadAtMs = Number.NEGATIVE_INFINITY;
  }

  #applyEndpoints(plan: SlotPlan): void {
    const endpoints = new Map<EndpointName, EndpointTable<R>>();
    for (const [index, row] of plan.snapshot.endpoints.entries()) {
      const slot = plan.endpointSlots[index]!;
      const held = this.#endpoints.get(row.name);
      const table = held?.slot === slot ? held : new EndpointTable<R>(row.name, slot);
      table.queue = row.queue;
      table.split =
        slot < 0
          ? []
          : row.split.flatMap(({ version: id, weight }) => {
              const version = this.#versions.get(id);
              return version !== undefined && weight > 0 ? [{ version, weight }] : [];
            });
      endpoints.set(row.name, table);
    }
    for (const [name, table] of this.#endpoints) {
      if (endpoints.get(name) === table) continue;
      table.removed = true;
      table.split = [];
    }
    this.#endpoints = endpoints;
  }
}
