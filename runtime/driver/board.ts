import { InvariantError } from "../core/assert.ts";
import { canonicalJson } from "../core/canonical.ts";
import type { Plain } from "../core/controller.ts";
import { type Known, missing } from "../core/known.ts";
import type { MonoMs } from "../core/time.ts";
import type { BoardView, FactName, Facts, ReplicaFact } from "../domain/board.ts";
import { type ReplicaId, type VersionId, versionOfReplica } from "../domain/names.ts";
import type { Clock } from "../ports/clock.ts";
import type { SpecStore } from "../ports/stores.ts";

/** The right to write one fact. The Board hands it out once, so that each fact has one writer by construction. */
export interface FactWriter<F extends FactName> {
  readonly fact: F;
  /** Writes a value. An equal one (as canonical JSON) only refreshes its age: no new generation, no event. */
  set(key: string, value: Facts[F]): void;
  remove(key: string): void;
}

/** Called after a fact's value changed or went. */
export type FactListener = (fact: FactName, key: string) => void;

/** A Board that also tells of changes. */
export interface LiveBoard extends BoardView {
  subscribe(listener: FactListener): () => void;
}

interface Cell {
  readonly value: unknown;
  readonly text: string;
  readonly generation: number;
  atMs: MonoMs;
}

/**
 * The newest value of every fact of a region, in memory. Values are Plain and are not copied: nobody may change one.
 * Listeners are called inside the write, in the order they subscribed; they must only note the change.
 */
export class Board implements LiveBoard {
  readonly #clock: Clock;
  readonly #cells = new Map<FactName, Map<string, Cell>>();
  readonly #sortedKeys = new Map<FactName, readonly string[]>();
  /** Keys of the facts of replicas by their version. */
  readonly #byVersion: Readonly<Record<ReplicaFact, Map<VersionId, Set<ReplicaId>>>> = {
    replica: new Map(),
    hosted: new Map(),
  };
  readonly #writers = new Set<FactName>();
  readonly #listeners = new Set<FactListener>();
  #generation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The writer of a fact. Errors: InvariantError when it was handed out before. */
  writer<F extends FactName>(fact: F): FactWriter<F> {
    if (this.#writers.has(fact)) throw new InvariantError(`the fact ${fact} has a writer already`);
    this.#writers.add(fact);
    return {
      fact,
      set: (key, value) => this.#set(fact, key, value),
      remove: (key) => this.#remove(fact, key),
    };
  }

  get<F extends FactName>(fact: F, key: string): Known<Facts[F]> {
    const cell = this.#cells.get(fact)?.get(key);
    if (cell === undefined) return missing(`no ${fact} of ${key}`);
    return { kind: "known", value: cell.value as Facts[F], atMs: cell.atMs, generation: cell.generation };
  }

  keys(fact: FactName): readonly string[] {
    const sorted = this.#sortedKeys.get(fact);
    if (sorted !== undefined) return sorted;
    const fresh = [...(this.#cells.get(fact)?.keys() ?? [])].sort();
    this.#sortedKeys.set(fact, fresh);
    return fresh;
  }

  replicasOf(fact: ReplicaFact, version: VersionId): readonly ReplicaId[] {
    return [...(this.#byVersion[fact].get(version) ?? [])].sort();
  }

  subscribe(listener: FactListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #set(fact: FactName, key: string, value: unknown): void {
    const atMs = this.#clock.monoMs();
    const cells = this.#cells.get(fact) ?? new Map<string, Cell>();
    this.#cells.set(fact, cells);
    const text = canonicalJson(value as Plain);
    const before = cells.get(key);
    if (before !== undefined && before.text === text) {
      before.atMs = atMs;
      return;
    }
    if (before === undefined) this.#keyAdded(fact, key);
    this.#generation += 1;
    cells.set(key, { value, text, generation: this.#generation, atMs });
    this.#tell(fact, key);
  }

  #remove(fact: FactName, key: string): void {
    if (this.#cells.get(fact)?.delete(key) !== true) return;
    this.#keyGone(fact, key);
    this.#tell(fact, key);
  }

  #keyAdded(fact: FactName, key: string): void {
    this.#sortedKeys.delete(fact);
    if (!isReplicaFact(fact)) return;
    const ofFact = this.#byVersion[fact];
    const version = versionOfReplica(key);
    const replicas = ofFact.get(version) ?? new Set<ReplicaId>();
    ofFact.set(version, replicas.add(key));
  }

  #keyGone(fact: FactName, key: string): void {
    this.#sortedKeys.delete(fact);
    if (!isReplicaFact(fact)) return;
    const ofFact = this.#byVersion[fact];
    const version = versionOfReplica(key);
    const replicas = ofFact.get(version);
    replicas?.delete(key);
    if (replicas?.size === 0) ofFact.delete(version);
  }

  #tell(fact: FactName, key: string): void {
    for (const listener of this.#listeners) listener(fact, key);
  }
}

function isReplicaFact(fact: FactName): fact is ReplicaFact {
  return fact === "replica" || fact === "hosted";
}

/**
 * The writer of a fact that outlives the process: what the store holds is put on the Board now, and each later change
 * is on disk before anybody sees it. Values that do not outlive it (`outlives` says no: progress) go to the Board alone,
 * and the next process finds the last one that does. Errors: those of the store; the Board then keeps the old value.
 */
export function storedWriter<F extends FactName>(
  board: Board,
  store: SpecStore,
  fact: F,
  outlives: (value: Facts[F]) => boolean = () => true,
): FactWriter<F> {
  const writer = board.writer(fact);
  for (const { key, value } of store.load(fact)) writer.set(key, value as unknown as Facts[F]);
  return {
    fact,
    set: (key, value) => {
      const known = board.get(fact, key);
      const plain = value as unknown as Plain;
      const isNew = known.kind === "missing" || canonicalJson(known.value as unknown as Plain) !== canonicalJson(plain);
      if (isNew && outlives(value)) store.put(fact, key, plain);
      writer.set(key, value);
    },
    remove: (key) => {
      if (board.get(fact, key).kind === "missing") return;
      store.remove(fact, key);
      writer.remove(key);
    },
  };
}
