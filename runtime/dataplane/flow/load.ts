import type { ReplicaLoad, VersionLoad } from "../../domain/load.ts";
import { addBlock } from "./counters.ts";
import { SEAT_STATE } from "./faults.ts";
import { BUCKETS, COUNTER, COUNTER_CELLS, type FlowMemory } from "./memory.ts";
import type { SlotPlan } from "./slots.ts";
import { ring } from "./waiting-room.ts";

/**
 * Rows of a LoadReport: sums over all threads, those that died included. Main thread only. Reading starts a new
 * interval of the peaks. The two integrals run on to `nowMs`: what a thread has timed but not yet recorded is taken
 * back by the next reading. Cost: about a microsecond per version and thread, less per replica.
 */
export function readLoad(
  memory: FlowMemory,
  plan: SlotPlan,
  nowMs: number,
): { readonly versions: VersionLoad[]; readonly replicas: ReplicaLoad[] } {
  const versions: VersionLoad[] = [];
  const replicas: ReplicaLoad[] = [];
  for (const [index, version] of plan.snapshot.versions.entries()) {
    const slot = plan.versionSlots[index]!;
    if (slot >= 0) {
      versions.push({ version: version.id, endpoint: version.endpoint, ...readVersion(memory, slot, nowMs) });
    }
    for (const [position, replica] of version.replicas.entries()) {
      const seat = plan.replicaSlots[index]![position]!;
      if (seat < 0) continue;
      const { id, epoch, draining } = replica;
      replicas.push({ replica: id, epoch, draining, ...readReplica(memory, seat, nowMs) });
    }
  }
  for (const { replica, epoch, slot } of plan.lingering) {
    const row = readReplica(memory, slot, nowMs);
    if (row.inFlight > 0) replicas.push({ replica, epoch, draining: true, ...row });
  }
  return { versions, replicas };
}

function readVersion(memory: FlowMemory, slot: number, nowMs: number): Omit<VersionLoad, "version" | "endpoint"> {
  const sum = new Float64Array(COUNTER_CELLS);
  let inFlight = 0;
  let queued = 0;
  for (let row = 0; row <= memory.threads; row++) {
    const gauges = addBlock(memory, row, slot, nowMs, sum);
    inFlight += gauges.inFlight;
    queued += gauges.queued;
  }
  const histogram = (start: number): number[] => Array.from(sum.subarray(start, start + BUCKETS));
  return {
    arrivals: sum[COUNTER.arrivals]!,
    completed: sum[COUNTER.completed]!,
    failed: sum[COUNTER.failed]!,
    turnedAwayForCapacity: sum[COUNTER.turnedAway]!,
    clientGone: sum[COUNTER.clientGone]!,
    retries: sum[COUNTER.retries]!,
    inFlight,
    queued,
    inFlightMsTotal: sum[COUNTER.inFlightMs]!,
    queuedMsTotal: sum[COUNTER.queuedMs]!,
    serviceMsBuckets: histogram(COUNTER.serviceBuckets),
    firstByteMsBuckets: histogram(COUNTER.firstByteBuckets),
    serviceMsTotal: sum[COUNTER.serviceMs]!,
    firstByteMsTotal: sum[COUNTER.firstByteMs]!,
  };
}

function readReplica(
  memory: FlowMemory,
  slot: number,
  nowMs: number,
): Pick<ReplicaLoad, "inFlight" | "ejected" | "faultsTotal"> {
  const out = Atomics.load(memory.state, slot) !== SEAT_STATE.inService && nowMs < memory.outUntilMs[slot]!;
  return {
    inFlight: Atomics.load(memory.total, slot),
    ejected: out,
    faultsTotal: Atomics.load(memory.faults, slot),
  };
}

/**
 * Clears a dead thread's rows: what it had in flight leaves the totals, its counters go on in the departed row, its
 * requests in flight or waiting are counted as failed, and what waits elsewhere is woken. Main thread only, after the
 * thread has ended and before another takes its number.
 */
export function retireThread(memory: FlowMemory, thread: number, nowMs: number): void {
  retireCharges(memory, thread);
  for (let slot = 0; slot < memory.versionSlots; slot++) retireVersion(memory, thread, slot, nowMs);
  // The next thread of this number has applied no plan: until it has, no slot is given to another owner.
  Atomics.store(memory.appliedPlan, thread, 0);
  for (let other = 0; other < memory.threads; other++) if (other !== thread) ring(memory, other);
}

function retireCharges(memory: FlowMemory, thread: number): void {
  for (let slot = 0; slot < memory.replicaSlots; slot++) Atomics.compareExchange(memory.prober, slot, thread + 1, 0);
  takeBack(memory.total, memory.charged[thread]!);
  takeBack(memory.places, memory.heldPlaces[thread]!);
  takeBack(memory.kib, memory.heldKib[thread]!);
  takeBack(memory.waiting, memory.inLine[thread]!);
}

/** Takes a thread's row out of the totals that it is part of. */
function takeBack(total: Int32Array, row: Int32Array): void {
  for (let slot = 0; slot < row.length; slot++) {
    if (row[slot] === 0) continue;
    Atomics.sub(total, slot, row[slot]!);
    Atomics.store(row, slot, 0);
  }
}

function retireVersion(memory: FlowMemory, thread: number, slot: number, nowMs: number): void {
  const block = new Float64Array(COUNTER_CELLS);
  addBlock(memory, thread, slot, nowMs, block);
  // What arrived and did not end, rather than the gauges: a thread may have died between two cells of one change.
  const { arrivals, completed, failed, turnedAway, clientGone, rehomed } = COUNTER;
  const ended = [completed, failed, turnedAway, clientGone, rehomed].reduce((sum, cell) => sum + block[cell]!, 0);
  block[failed] = block[failed]! + block[arrivals]! - ended;
  const departed = memory.counters[memory.threads]!.subarray(slot * COUNTER_CELLS, (slot + 1) * COUNTER_CELLS);
  for (let cell = 0; cell < COUNTER_CELLS; cell++) departed[cell] = departed[cell]! + block[cell]!;
  memory.counters[thread]!.fill(0, slot * COUNTER_CELLS, (slot + 1) * COUNTER_CELLS);
  for (const row of [memory.inFlight, memory.queued, memory.sequence]) Atomics.store(row[thread]!, slot, 0);
}
