import { Heap } from "../core/heap.ts";

interface Node<E> {
  readonly entry: E;
  readonly dueMs: number;
}

/**
 * Entries ordered by when they are due, then by rank (smaller first). Setting an entry again moves it.
 * Cost: O(log n) for set and take; moved entries leave a stale node behind that is dropped when it surfaces.
 */
export class DueQueue<E> {
  readonly #dueOf = new Map<E, number>();
  readonly #heap: Heap<Node<E>>;

  constructor(rankOf: (entry: E) => number) {
    this.#heap = new Heap((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && rankOf(a.entry) < rankOf(b.entry)));
  }

  get size(): number {
    return this.#dueOf.size;
  }

  set(entry: E, dueMs: number): void {
    if (this.#dueOf.get(entry) === dueMs) return;
    this.#dueOf.set(entry, dueMs);
    this.#heap.push({ entry, dueMs });
  }

  dueOf(entry: E): number | null {
    return this.#dueOf.get(entry) ?? null;
  }

  remove(entry: E): void {
    this.#dueOf.delete(entry);
  }

  /** When the first entry is due, or null when there is none. */
  nextDueMs(): number | null {
    return this.#first()?.dueMs ?? null;
  }

  /** Takes the first entry out if it is due at `nowMs`. */
  takeDue(nowMs: number): E | null {
    const first = this.#first();
    if (first === null || first.dueMs > nowMs) return null;
    this.#heap.pop();
    this.#dueOf.delete(first.entry);
    return first.entry;
  }

  #first(): Node<E> | null {
    for (;;) {
      const top = this.#heap.first;
      if (top === undefined) return null;
      if (this.#dueOf.get(top.entry) === top.dueMs) return top;
      this.#heap.pop();
    }
  }
}
