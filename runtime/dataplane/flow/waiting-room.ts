import type { Asked, EndpointTable, Lease, VersionTable } from "./lease.ts";
import type { FlowMemory } from "./memory.ts";

const KIB = 1024;

/**
 * Where requests wait, one thread's part of it: the lists are its own, the endpoint's bounds are shared by all threads.
 * Room that comes free belongs to the waiting thread with the least in flight of that version, and in turn among equals,
 * so that no thread starves and, under load, each thread mostly serves itself.
 */
export class WaitingRoom<R extends Asked> {
  readonly #memory: FlowMemory;
  readonly #thread: number;
  /** Versions that something of this thread waits for. */
  readonly versions: VersionTable<R>[] = [];

  constructor(memory: FlowMemory, thread: number) {
    this.#memory = memory;
    this.#thread = thread;
  }

  /** Takes one place and the body's bytes within the endpoint's bounds, or false. Exact over threads: added first, taken back when too much. */
  reserve(endpoint: EndpointTable<R>, request: R): boolean {
    this.#hold(endpoint.slot, 1, kibOf(request));
    const { places, kib } = this.#memory;
    const { maxRequests, maxBytes } = endpoint.queue;
    if (Atomics.load(places, endpoint.slot) <= maxRequests && Atomics.load(kib, endpoint.slot) <= maxBytes / KIB)
      return true;
    this.unreserve(endpoint, request);
    return false;
  }

  /** Gives back what reserve took. */
  unreserve(endpoint: EndpointTable<R>, request: R): void {
    this.#hold(endpoint.slot, -1, -kibOf(request));
  }

  /**
   * Puts a lease with a reserved place into a list of its version. Returns true when it is the first of all threads in line.
   * Requires: between the counters' open and close, as `queued` is one of their gauges.
   */
  enter(lease: Lease<R>, list: "line" | "again"): boolean {
    const { version } = lease;
    if (!version.waits) this.versions.push(version);
    lease.waitsIn = list;
    this.#queued(version.slot, 1);
    if (list === "again") {
      version.again.insert(lease);
      return false;
    }
    version.line.push(lease);
    const row = this.#memory.inLine[this.#thread]!;
    Atomics.store(row, version.slot, row[version.slot]! + 1);
    return Atomics.add(this.#memory.waiting, version.slot, 1) === 0;
  }

  /** Takes a lease out; its reserved place stays. Requires: as enter. `served`: the turn goes to the next workload. */
  leave(lease: Lease<R>, served: boolean): void {
    const { version } = lease;
    this.#queued(version.slot, -1);
    if (lease.waitsIn === "again") version.again.remove(lease);
    else {
      if (served) version.line.serve(lease);
      else version.line.remove(lease);
      const row = this.#memory.inLine[this.#thread]!;
      Atomics.store(row, version.slot, row[version.slot]! - 1);
      Atomics.sub(this.#memory.waiting, version.slot, 1);
    }
    lease.waitsIn = null;
    if (!version.waits) this.versions.splice(this.versions.indexOf(version), 1);
  }

  /**
   * Whether any thread has a request in line for the version: a new request then stands behind it. Who stands in line
   * looks for room after an atomic step, and who frees room looks at the line after one, so one of them sees the other;
   * where a processor lets even that slip, the next look is LOOK_AGAIN_MS away.
   */
  anyInLine(version: VersionTable<R>): boolean {
    return this.#memory.waiting[version.slot]! > 0;
  }

  /** The thread that free room of the version belongs to, or -1 when none waits. */
  entitled(version: VersionTable<R>): number {
    const { threads, turn, inLine, inFlight } = this.#memory;
    if (threads === 1) return version.line.size > 0 ? 0 : -1;
    let entitled = -1;
    let least = Number.POSITIVE_INFINITY;
    const start = turn[version.slot]!;
    for (let step = 0; step < threads; step++) {
      const thread = (start + step) % threads;
      if (inLine[thread]![version.slot] === 0) continue;
      const load = inFlight[thread]![version.slot]!;
      if (load < least) {
        least = load;
        entitled = thread;
      }
    }
    return entitled;
  }

  /** Among equals the next thread is served next. */
  passTurn(version: VersionTable<R>): void {
    Atomics.store(this.#memory.turn, version.slot, (this.#thread + 1) % this.#memory.threads);
  }

  /** Tells the thread that free room belongs to, unless it is this one. */
  offer(version: VersionTable<R>): void {
    if (this.#memory.threads === 1 || !this.anyInLine(version)) return;
    const thread = this.entitled(version);
    if (thread >= 0 && thread !== this.#thread) ring(this.#memory, thread);
  }

  /** As in Balancer.release, a total and the thread's own row beside it change with nothing between them. */
  #hold(slot: number, places: number, kib: number): void {
    const heldPlaces = this.#memory.heldPlaces[this.#thread]!;
    const heldKib = this.#memory.heldKib[this.#thread]!;
    Atomics.add(this.#memory.places, slot, places);
    heldPlaces[slot] = heldPlaces[slot]! + places;
    Atomics.add(this.#memory.kib, slot, kib);
    heldKib[slot] = heldKib[slot]! + kib;
  }

  #queued(slot: number, amount: number): void {
    const row = this.#memory.queued[this.#thread]!;
    row[slot] = row[slot]! + amount;
  }
}

/** Wakes a thread that waits on its doorbell. */
export function ring(memory: FlowMemory, thread: number): void {
  Atomics.add(memory.doorbell, thread, 1);
  Atomics.notify(memory.doorbell, thread);
}

/** KiB that a waiting request takes of its endpoint's bound: whole ones, at least one, so that a 32-bit cell holds 2 TiB. */
function kibOf(request: Asked): number {
  return Math.max(1, Math.ceil(request.bodyBytes / KIB));
}
