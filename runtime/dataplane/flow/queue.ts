/** What a queue needs of the things that wait in it: its links live in them, so that leaving from the middle costs nothing. */
export interface Waiter<W> {
  waitUntilMs: number;
  nextInKey: W | null;
  previousInKey: W | null;
  nextByAge: W | null;
  previousByAge: W | null;
}

/** Waiters sorted by when their time is up. Not a queue to serve from. */
export class DeadlineList<W extends Waiter<W>> {
  #first: W | null = null;
  #last: W | null = null;

  /** The one whose time is up first. */
  get first(): W | null {
    return this.#first;
  }

  /** Cost: constant while deadlines grow with arrival, as they do unless a bound was changed. */
  insert(waiter: W): void {
    let before = this.#last;
    while (before !== null && before.waitUntilMs > waiter.waitUntilMs) before = before.previousByAge;
    const after = before === null ? this.#first : before.nextByAge;
    waiter.previousByAge = before;
    waiter.nextByAge = after;
    if (before === null) this.#first = waiter;
    else before.nextByAge = waiter;
    if (after === null) this.#last = waiter;
    else after.previousByAge = waiter;
  }

  remove(waiter: W): void {
    const { previousByAge: before, nextByAge: after } = waiter;
    if (before === null) this.#first = after;
    else before.nextByAge = after;
    if (after === null) this.#last = before;
    else after.previousByAge = before;
    waiter.previousByAge = null;
    waiter.nextByAge = null;
  }
}

/** FIFO of one key, in the ring of keys that are served in turn. */
interface KeyLine<W> {
  readonly key: string;
  first: W | null;
  last: W | null;
}

/**
 * A queue that serves keys in turn and each key first come, first served: a key that floods it delays itself.
 * Every operation costs a constant, whatever waits.
 */
export class FairQueue<W extends Waiter<W>> {
  readonly deadlines = new DeadlineList<W>();
  readonly #keyOf: (waiter: W) => string;
  readonly #lines = new Map<string, KeyLine<W>>();
  /** Lines in the order they are served; an emptied one stays until its turn and is dropped then. */
  #ring: KeyLine<W>[] = [];
  #ringStart = 0;
  #size = 0;

  constructor(keyOf: (waiter: W) => string) {
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#size;
  }

  push(waiter: W): void {
    const key = this.#keyOf(waiter);
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { key, first: null, last: null };
      this.#lines.set(key, line);
      this.#ring.push(line);
    }
    waiter.previousInKey = line.last;
    if (line.last === null) line.first = waiter;
    else line.last.nextInKey = waiter;
    line.last = waiter;
    this.deadlines.insert(waiter);
    this.#size++;
  }

  /** The one to serve next, left in place. */
  peek(): W | null {
    for (;;) {
      const line = this.#ring[this.#ringStart];
      if (line === undefined) return null;
      if (line.first !== null) return line.first;
      this.#lines.delete(line.key);
      this.#advance();
    }
  }

  /** Takes out what peek gave, and gives the turn to the next key. Requires: `waiter` is what peek returned last. */
  serve(waiter: W): void {
    const line = this.#ring[this.#ringStart];
    this.remove(waiter);
    if (line === undefined) return;
    if (line.first === null) this.#lines.delete(line.key);
    else this.#ring.push(line);
    this.#advance();
  }

  /** Takes out one that waits no longer, wherever it stands. */
  remove(waiter: W): void {
    const line = this.#lines.get(this.#keyOf(waiter));
    if (line === undefined) return;
    const { previousInKey: before, nextInKey: after } = waiter;
    if (before === null) line.first = after;
    else before.nextInKey = after;
    if (after === null) line.last = before;
    else after.previousInKey = before;
    waiter.previousInKey = null;
    waiter.nextInKey = null;
    this.deadlines.remove(waiter);
    this.#size--;
  }

  #advance(): void {
    this.#ringStart++;
    // The served half of the array is dropped in one go, which keeps the mean cost constant.
    if (this.#ringStart * 2 > this.#ring.length + 16) {
      this.#ring = this.#ring.slice(this.#ringStart);
      this.#ringStart = 0;
    }
  }
}
