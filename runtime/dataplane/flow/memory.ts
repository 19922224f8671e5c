import { assert } from "../../core/assert.ts";
import { LATENCY_EDGES_MS } from "../../domain/load.ts";

/** Sizes of a flow memory. A region of 1,000 replicas wants about 4,096 replica slots: old epochs keep theirs until idle. */
export interface FlowSizes {
  readonly threads: number;
  readonly replicaSlots: number;
  readonly versionSlots: number;
}

/** Cells of one thread's counters of one version, by position in its block. */
export const COUNTER = {
  arrivals: 0,
  completed: 1,
  failed: 2,
  turnedAway: 3,
  clientGone: 4,
  retries: 5,
  inFlightMs: 6,
  queuedMs: 7,
  serviceMs: 8,
  /** Waiting requests that another version took over: they arrived here and end there. */
  rehomed: 9,
  /** When the two integrals were last brought up to date. Carried by no sum. */
  changedAtMs: 10,
  firstByteMs: 11,
  serviceBuckets: 12,
  firstByteBuckets: 12 + LATENCY_EDGES_MS.length + 1,
} as const;

/** Buckets of one latency histogram. */
export const BUCKETS = LATENCY_EDGES_MS.length + 1;
/** Cells of one block, rounded up to whole cache lines (8 cells of 8 bytes), so that two threads never share one. */
export const COUNTER_CELLS = Math.ceil((COUNTER.firstByteBuckets + BUCKETS) / 8) * 8;

/** Typed views of one SharedArrayBuffer; README.md draws it. Rows `[t]` have one writer, thread t; the rest is atomic. */
export interface FlowMemory extends FlowSizes {
  readonly buffer: SharedArrayBuffer;
  readonly doorbell: Int32Array;
  readonly appliedPlan: Int32Array;
  readonly total: Int32Array;
  readonly state: Int32Array;
  readonly faultRun: Int32Array;
  readonly outCount: Int32Array;
  /** Thread + 1 of the half-open probe now in flight, or 0. */
  readonly prober: Int32Array;
  readonly faults: Int32Array;
  readonly charged: readonly Int32Array[];
  readonly outUntilMs: Float64Array;
  /** When the replica last gave a sign of work done: a first byte, a piece of an answer, its end. */
  readonly progressMs: Float64Array;
  /** Requests in the fair queues of all threads. */
  readonly waiting: Int32Array;
  /** Thread that is served first among equals. */
  readonly turn: Int32Array;
  /** Places and KiB that waiting requests of all threads take of an endpoint's bounds. */
  readonly places: Int32Array;
  readonly kib: Int32Array;
  /** What of these thread t holds. */
  readonly heldPlaces: readonly Int32Array[];
  readonly heldKib: readonly Int32Array[];
  readonly inFlight: readonly Int32Array[];
  /** All that waits here: in the fair queue and for another try. */
  readonly queued: readonly Int32Array[];
  /** What of `queued` stands in the fair queue. */
  readonly inLine: readonly Int32Array[];
  /** Odd while thread t changes version v's counters: a reader that sees it odd or changed reads again. */
  readonly sequence: readonly Int32Array[];
  /** One row per thread, then the departed row; a block of COUNTER_CELLS per version slot. */
  readonly counters: readonly Float64Array[];
}

const HEADER_INTS = 16;
const LINE_BYTES = 64;

/** Makes the memory of one router process. Requires: at least one thread and one slot of each kind. Cost: about 0.9 KB per version slot and thread. */
export function createFlowMemory(sizes: FlowSizes): FlowMemory {
  for (const size of [sizes.threads, sizes.replicaSlots, sizes.versionSlots]) {
    assert(Number.isInteger(size) && size > 0, `flow memory sizes must be whole and positive, got ${size}`);
  }
  const buffer = new SharedArrayBuffer(layOut(null, sizes).bytes);
  new Int32Array(buffer).set([sizes.threads, sizes.replicaSlots, sizes.versionSlots]);
  return openFlowMemory(buffer);
}

/** Opens, in any thread, what createFlowMemory made. */
export function openFlowMemory(buffer: SharedArrayBuffer): FlowMemory {
  const [threads = 0, replicaSlots = 0, versionSlots = 0] = new Int32Array(buffer, 0, 3);
  return layOut(buffer, { threads, replicaSlots, versionSlots }).memory;
}

/** Walks the layout once: with no buffer it only measures (its views are then of a stand-in and are dropped). */
function layOut(shared: SharedArrayBuffer | null, sizes: FlowSizes): { memory: FlowMemory; bytes: number } {
  const { threads, replicaSlots, versionSlots } = sizes;
  let at = HEADER_INTS * 4;
  const place = (bytes: number): number => {
    const start = at;
    at += Math.ceil(bytes / LINE_BYTES) * LINE_BYTES;
    return start;
  };
  const ints = (length: number): Int32Array => {
    const start = place(length * 4);
    return shared === null ? new Int32Array(0) : new Int32Array(shared, start, length);
  };
  const floats = (length: number): Float64Array => {
    const start = place(length * 8);
    return shared === null ? new Float64Array(0) : new Float64Array(shared, start, length);
  };
  const rows = (length: number): Int32Array[] => Array.from({ length: threads }, () => ints(length));
  const buffer = shared ?? new SharedArrayBuffer(0);
  const memory: FlowMemory = {
    ...sizes,
    buffer,
    doorbell: ints(threads),
    appliedPlan: ints(threads),
    total: ints(replicaSlots),
    state: ints(replicaSlots),
    faultRun: ints(replicaSlots),
    outCount: ints(replicaSlots),
    prober: ints(replicaSlots),
    faults: ints(replicaSlots),
    charged: rows(replicaSlots),
    outUntilMs: floats(replicaSlots),
    progressMs: floats(replicaSlots),
    waiting: ints(versionSlots),
    turn: ints(versionSlots),
    places: ints(versionSlots),
    kib: ints(versionSlots),
    heldPlaces: rows(versionSlots),
    heldKib: rows(versionSlots),
    inFlight: rows(versionSlots),
    queued: rows(versionSlots),
    inLine: rows(versionSlots),
    sequence: rows(versionSlots),
    counters: Array.from({ length: threads + 1 }, () => floats(versionSlots * COUNTER_CELLS)),
  };
  return { memory, bytes: at };
}
