import type { MonoMs } from "../../core/time.ts";
import { FIRST_ORDINAL, ordinalOfReplica, type ReplicaId } from "../../domain/names.ts";
import type { Generation } from "../../domain/snapshot.ts";
import type { Version } from "../../domain/version.ts";

/** One replica that exists or shall exist. */
export interface Slot {
  readonly id: ReplicaId;
  /** It was seen ready, so a router may have been told of it. */
  readonly everReady: boolean;
  readonly drain: Drain | null;
  readonly crashedSinceMs: MonoMs | null;
}

/** A drain under way. `shownIn` is the first snapshot that no longer opens the replica; null until there is one. */
export interface Drain {
  readonly sinceMs: MonoMs;
  readonly shownIn: Generation | null;
}

/** What fleet remembers of a version. */
export interface FleetMemory {
  /** Of the first decision in this process; null before it. */
  readonly startedAtMs: MonoMs | null;
  /** What exists is known, so deciding may begin. */
  readonly settled: boolean;
  readonly slots: readonly Slot[];
  /** Drains of an earlier process, taken up with a new deadline. */
  readonly drainingBefore: readonly ReplicaId[];
  readonly nextOrdinal: number;
  /** Replacements of crash-looping replicas since one was last ready. */
  readonly crashRetries: number;
  /** The last known ones, for when the endpoint is gone while its replicas drain. */
  readonly version: Version | null;
  readonly requestMs: number;
}

/** What outlives the process: ids stay the same over a restart of the controller. */
export interface FleetKept {
  readonly ids: readonly { readonly id: ReplicaId; readonly draining: boolean }[];
  readonly nextOrdinal: number;
}

/** Drain grace before an endpoint's own request time-out is known: that time-out's default. */
const DEFAULT_REQUEST_MS = 600_000;

/** Memory at the start of a process. A replica of an earlier life may have been ready: that is the safe side. */
export function initFleet(kept: FleetKept | null): FleetMemory {
  const ids = kept?.ids ?? [];
  return {
    startedAtMs: null,
    settled: false,
    slots: ids.map(({ id }) => slotOf(id, true)),
    drainingBefore: ids.filter(({ draining }) => draining).map(({ id }) => id),
    nextOrdinal: kept?.nextOrdinal ?? FIRST_ORDINAL,
    crashRetries: 0,
    version: null,
    requestMs: DEFAULT_REQUEST_MS,
  };
}

/** The part of memory that is kept. */
export function keepFleet(memory: FleetMemory): FleetKept {
  return {
    ids: memory.slots.map(({ id, drain }) => ({ id, draining: drain !== null || memory.drainingBefore.includes(id) })),
    nextOrdinal: memory.nextOrdinal,
  };
}

/** A slot that serves. */
export function slotOf(id: ReplicaId, everReady: boolean): Slot {
  return { id, everReady, drain: null, crashedSinceMs: null };
}

/** Slots in the order they were made. */
export function byOrdinal(a: { readonly id: ReplicaId }, b: { readonly id: ReplicaId }): number {
  return ordinalOfReplica(a.id) - ordinalOfReplica(b.id);
}
