import { LATENCY_EDGES_MS } from "../../domain/load.ts";
import { BUCKETS, COUNTER, COUNTER_CELLS, type FlowMemory } from "./memory.ts";

/** Reads tried at once; then one each millisecond, as the writer has lost its core in the middle of a change. */
const READ_ATTEMPTS = 100;
/** Milliseconds waited for a writer before a block is taken as it is: only a thread that died inside a change is away that long. */
const READ_PATIENCE_MS = 50;

/**
 * One thread's counters of all versions. A change is made between `open` and `close`, which bracket it with the
 * version's sequence number (a seqlock), so that main reads a block whole without stopping the thread.
 */
export class ThreadCounters {
  readonly #cells: Float64Array;
  readonly #sequence: Int32Array;
  readonly #inFlight: Int32Array;
  readonly #queued: Int32Array;

  constructor(memory: FlowMemory, thread: number) {
    this.#cells = memory.counters[thread]!;
    this.#sequence = memory.sequence[thread]!;
    this.#inFlight = memory.inFlight[thread]!;
    this.#queued = memory.queued[thread]!;
  }

  /** Starts a change of version slot `version`: brings its two integrals up to `nowMs`. */
  open(version: number, nowMs: number): void {
    Atomics.store(this.#sequence, version, this.#sequence[version]! + 1);
    const cells = this.#cells;
    const block = version * COUNTER_CELLS;
    const elapsedMs = nowMs - cells[block + COUNTER.changedAtMs]!;
    if (elapsedMs <= 0) return;
    cells[block + COUNTER.inFlightMs] = cells[block + COUNTER.inFlightMs]! + this.#inFlight[version]! * elapsedMs;
    cells[block + COUNTER.queuedMs] = cells[block + COUNTER.queuedMs]! + this.#queued[version]! * elapsedMs;
    cells[block + COUNTER.changedAtMs] = nowMs;
  }

  close(version: number): void {
    Atomics.store(this.#sequence, version, this.#sequence[version]! + 1);
  }

  /** Adds to one cell (a value of COUNTER). Requires: between open and close. */
  add(version: number, counter: number, amount: number): void {
    const cell = version * COUNTER_CELLS + counter;
    this.#cells[cell] = this.#cells[cell]! + amount;
  }

  /** Adds 1 to the bucket of `elapsedMs` in the histogram that starts at cell `histogram`. */
  observe(version: number, histogram: number, elapsedMs: number): void {
    this.add(version, histogram + latencyBucket(elapsedMs), 1);
  }
}

/** Bucket of LATENCY_EDGES_MS that holds `ms` (an edge belongs to the bucket below it). */
export function latencyBucket(ms: number): number {
  if (!(ms > LATENCY_EDGES_MS[0]!)) return 0;
  // Edges are 0.25 * 2^(i/2): the logarithm gives the bucket, and one comparison repairs its rounding.
  const near = Math.min(BUCKETS - 1, Math.max(1, Math.round(2 * Math.log2(ms * 4))));
  const edge = LATENCY_EDGES_MS[near];
  if (edge !== undefined && ms > edge) return near + 1;
  return ms > LATENCY_EDGES_MS[near - 1]! ? near : near - 1;
}

/**
 * Adds thread `row`'s block of a version to `sum` (COUNTER_CELLS cells), its integrals brought up to `nowMs`.
 * Returns its gauges. The departed row is read with gauges of 0. Main thread only: it may wait for a writer that lost
 * its core, some milliseconds at worst.
 */
export function addBlock(
  memory: FlowMemory,
  row: number,
  version: number,
  nowMs: number,
  sum: Float64Array,
): { readonly inFlight: number; readonly queued: number } {
  const cells = memory.counters[row]!.subarray(version * COUNTER_CELLS, (version + 1) * COUNTER_CELLS);
  const sequence = memory.sequence[row];
  const copy = new Float64Array(COUNTER_CELLS);
  let inFlight = 0;
  let queued = 0;
  for (let attempt = 0; attempt < READ_ATTEMPTS + READ_PATIENCE_MS; attempt++) {
    const before = sequence === undefined ? 0 : Atomics.load(sequence, version);
    copy.set(cells);
    inFlight = memory.inFlight[row]?.[version] ?? 0;
    queued = memory.queued[row]?.[version] ?? 0;
    if (sequence === undefined || (before % 2 === 0 && Atomics.load(sequence, version) === before)) break;
    if (attempt >= READ_ATTEMPTS) Atomics.wait(sequence, version, before, 1);
  }
  const elapsedMs = Math.max(0, nowMs - copy[COUNTER.changedAtMs]!);
  copy[COUNTER.inFlightMs] = copy[COUNTER.inFlightMs]! + inFlight * elapsedMs;
  copy[COUNTER.queuedMs] = copy[COUNTER.queuedMs]! + queued * elapsedMs;
  copy[COUNTER.changedAtMs] = 0;
  for (let cell = 0; cell < COUNTER_CELLS; cell++) sum[cell] = sum[cell]! + copy[cell]!;
  return { inFlight, queued };
}
