import { assert } from "../core/assert.ts";

/**
 * Entries ordered by when they are due, then by rank (smaller first). Setting an entry again moves it.
 * Cost: O(log n) for set and take; moved entries leave a stale node behind that is dropped when it surfaces.
 */
export class DueQueue<E> {
  readonly #rankOf: (entry: E) => number;
  readonly #dueOf = new Map<E, number>();
  readonly #heap: { readonly entry: E; readonly dueMs: number }[] = [];

  constructor(rankOf: (entry: E) => number) {
    this.#rankOf = rankOf;
  }

  get size(): number {
    return this.#dueOf.size;
  }

  set(entry: E, dueMs: number): void {
    if (this.#dueOf.get(entry) === dueMs) return;
    this.#dueOf.set(entry, dueMs);
    this.#heap.push({ entry, dueMs });
    this.#up(this.#heap.length - 1);
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
    this.#pop();
    this.#dueOf.delete(first.entry);
    return first.entry;
  }

  #first(): { readonly entry: E; readonly dueMs: number } | null {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return null;
      if (this.#dueOf.get(top.entry) === top.dueMs) return top;
      this.#pop();
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    assert(last !== undefined, "pop of an empty heap");
    if (this.#heap.length === 0) return;
    this.#heap[0] = last;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const child = right < this.#heap.length && this.#before(right, left) ? right : left;
      if (!this.#before(child, at)) return;
      this.#swap(child, at);
      at = child;
    }
  }

  #up(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #before(a: number, b: number): boolean {
    const left = this.#heap[a];
    const right = this.#heap[b];
    assert(left !== undefined && right !== undefined, "heap index out of range");
    return left.dueMs - right.dueMs < 0 || (left.dueMs === right.dueMs && this.#rank(left) < this.#rank(right));
  }

  #rank(node: { readonly entry: E }): number {
    return this.#rankOf(node.entry);
  }

  #swap(a: number, b: number): void {
    const left = this.#heap[a];
    const right = this.#heap[b];
    assert(left !== undefined && right !== undefined, "heap index out of range");
    this.#heap[a] = right;
    this.#heap[b] = left;
  }
}
