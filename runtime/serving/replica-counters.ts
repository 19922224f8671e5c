import { assert } from "../core/assert.ts";

/**
 * The counters of one replica, in one layout for threads (SharedArrayBuffer) and for processes (a file of
 * COUNTERS_BYTES): little-endian float64 slots, HEADER slots first, then one row of CLASS slots per request class.
 * Each slot has one writer. An aligned 8-byte store is not torn on the 64-bit machines that Penstock runs on, and a
 * reader only ever compares with what it read before, so no lock is needed. Cumulative slots only grow, once known.
 */

/** Slots of the header, by index. */
const HEADER = {
  /** LAYOUT_VERSION, written last by who made the counters. */
  layout: 0,
  /** Answers refused at the replica's own cap. */
  refusedTotal: 1,
  /** From here to batchRowsTotal: what some engines know (contract/names.ts ENGINE_GAUGES); NaN where this one does not. */
  sequencesActive: 2,
  sequencesWaiting: 3,
  kvUseRatio: 4,
  tokensTotal: 5,
  /** Batches run and the rows in them: their ratio is the mean batch size. */
  batchesTotal: 6,
  batchRowsTotal: 7,
} as const;
const ENGINE_SLOTS = { from: HEADER.sequencesActive, to: HEADER.batchRowsTotal + 1 } as const;

/** Slots of a request class's row, by index. */
const CLASS = {
  startedTotal: 0,
  /** Ended in any way, failures and clients gone included: started - finished is in flight. */
  finishedTotal: 1,
  failedTotal: 2,
  /** Pieces of work done inside: tokens, prompt chunks, batches or answers; it moves while the engine lives. */
  progressTotal: 3,
  /** Longest time without progress while work was present, of all times it ended with progress, in ms. */
  progressGapMsMax: 4,
  serviceMsTotal: 5,
} as const;

/** Version of the layout, for writers in another language. */
const LAYOUT_VERSION = 1;
/** Most request classes an engine may have (text, structured output, image, embeddings leave room to grow). */
const MAX_REQUEST_CLASSES = 8;
const HEADER_SLOTS = 16;
const CLASS_SLOTS = 8;
const SLOTS = HEADER_SLOTS + CLASS_SLOTS * MAX_REQUEST_CLASSES;
/** Size of the layout in bytes. */
export const COUNTERS_BYTES = SLOTS * 8;

/** The writing side, on the thread that serves. `nowMs` is any monotonic clock in milliseconds. */
export class ReplicaCounters {
  readonly shared: SharedArrayBuffer;
  readonly #slots: Float64Array;
  readonly #rows: ReadonlyMap<string, number>;
  /** Per class: when work appeared or last progressed, whichever came later. */
  readonly #sinceMs = new Float64Array(MAX_REQUEST_CLASSES);
  readonly #nowMs: () => number;

  constructor(classes: readonly string[], nowMs: () => number) {
    assert(classes.length <= MAX_REQUEST_CLASSES, `at most ${MAX_REQUEST_CLASSES} request classes`);
    this.shared = new SharedArrayBuffer(COUNTERS_BYTES);
    this.#slots = new Float64Array(this.shared);
    this.#rows = new Map(classes.map((name, index) => [name, index]));
    this.#nowMs = nowMs;
    this.#slots.fill(Number.NaN, ENGINE_SLOTS.from, ENGINE_SLOTS.to);
    this.#slots[HEADER.layout] = LAYOUT_VERSION;
  }

  /** Requests of all classes that have started and not ended. */
  inFlight(): number {
    let sum = 0;
    for (let row = 0; row < this.#rows.size; row++) sum += this.#inFlightOf(row);
    return sum;
  }

  /** A request of the class begins. Returns the moment, for `finished`. */
  started(requestClass: string): number {
    const row = this.#row(requestClass);
    const now = this.#nowMs();
    if (this.#inFlightOf(row) === 0) this.#sinceMs[row] = now;
    this.#add(row, CLASS.startedTotal, 1);
    return now;
  }

  /** The request that began at `startedAtMs` has ended. */
  finished(requestClass: string, startedAtMs: number, failed: boolean): void {
    const row = this.#row(requestClass);
    this.#add(row, CLASS.finishedTotal, 1);
    if (failed) this.#add(row, CLASS.failedTotal, 1);
    this.#add(row, CLASS.serviceMsTotal, this.#nowMs() - startedAtMs);
  }

  /** `count` pieces of work of the class are done. */
  progressed(requestClass: string, count: number): void {
    const row = this.#row(requestClass);
    const now = this.#nowMs();
    if (this.#inFlightOf(row) > 0) {
      const at = rowStart(row) + CLASS.progressGapMsMax;
      this.#slots[at] = Math.max(this.#slots[at]!, now - this.#sinceMs[row]!);
    }
    this.#sinceMs[row] = now;
    this.#add(row, CLASS.progressTotal, count);
  }

  /** Adds to a cumulative slot of the header. An engine that counts it adds 0 at its start: the count is known from then on. */
  count(slot: "refusedTotal" | "tokensTotal" | "batchesTotal" | "batchRowsTotal", by: number): void {
    const before = this.#slots[HEADER[slot]]!;
    this.#slots[HEADER[slot]] = (Number.isNaN(before) ? 0 : before) + by;
  }

  /** Sets a gauge of the header. */
  gauge(slot: "sequencesActive" | "sequencesWaiting" | "kvUseRatio", value: number): void {
    this.#slots[HEADER[slot]] = value;
  }

  #row(requestClass: string): number {
    const row = this.#rows.get(requestClass);
    assert(row !== undefined, `unknown request class ${requestClass}`);
    return row;
  }

  #inFlightOf(row: number): number {
    return this.#slots[rowStart(row) + CLASS.startedTotal]! - this.#slots[rowStart(row) + CLASS.finishedTotal]!;
  }

  #add(row: number, slot: number, by: number): void {
    const at = rowStart(row) + slot;
    this.#slots[at] = this.#slots[at]! + by;
  }
}

/** One class's counters as a reader sees them. */
export interface ClassCounts {
  readonly requestClass: string;
  readonly startedTotal: number;
  readonly finishedTotal: number;
  readonly failedTotal: number;
  readonly progressTotal: number;
  readonly progressGapMsMax: number;
  readonly serviceMsTotal: number;
}

/** All counters of a replica at one moment. Null: the engine does not know it, or not yet. */
export interface Counts {
  readonly classes: readonly ClassCounts[];
  readonly refusedTotal: number;
  readonly sequencesActive: number | null;
  readonly sequencesWaiting: number | null;
  readonly kvUseRatio: number | null;
  readonly tokensTotal: number | null;
  readonly batchesTotal: number | null;
  readonly batchRowsTotal: number | null;
}

/**
 * Reads counters, summed over the replica's worker processes (gaps and ratios: the largest).
 * Parts of another layout or too short count as all zero: their writer has not begun.
 */
export function readCounts(parts: readonly Float64Array[], classes: readonly string[]): Counts {
  const valid = parts.filter((slots) => slots.length >= SLOTS && slots[HEADER.layout] === LAYOUT_VERSION);
  const sum = (at: number): number => valid.reduce((total, slots) => total + slots[at]!, 0);
  const largest = (at: number): number => valid.reduce((most, slots) => Math.max(most, slots[at]!), 0);
  const known = (at: number): number[] => valid.map((slots) => slots[at]!).filter((value) => !Number.isNaN(value));
  const sumKnown = (at: number): number | null => {
    const values = known(at);
    return values.length === 0 ? null : values.reduce((total, value) => total + value, 0);
  };
  const kvUseRatios = known(HEADER.kvUseRatio);
  return {
    classes: classes.map((requestClass, row) => ({
      requestClass,
      startedTotal: sum(rowStart(row) + CLASS.startedTotal),
      finishedTotal: sum(rowStart(row) + CLASS.finishedTotal),
      failedTotal: sum(rowStart(row) + CLASS.failedTotal),
      progressTotal: sum(rowStart(row) + CLASS.progressTotal),
      progressGapMsMax: largest(rowStart(row) + CLASS.progressGapMsMax),
      serviceMsTotal: sum(rowStart(row) + CLASS.serviceMsTotal),
    })),
    refusedTotal: sum(HEADER.refusedTotal),
    sequencesActive: sumKnown(HEADER.sequencesActive),
    sequencesWaiting: sumKnown(HEADER.sequencesWaiting),
    kvUseRatio: kvUseRatios.length === 0 ? null : Math.max(...kvUseRatios),
    tokensTotal: sumKnown(HEADER.tokensTotal),
    batchesTotal: sumKnown(HEADER.batchesTotal),
    batchRowsTotal: sumKnown(HEADER.batchRowsTotal),
  };
}

function rowStart(row: number): number {
  return HEADER_SLOTS + row * CLASS_SLOTS;
}
