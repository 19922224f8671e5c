import { nowMs } from "./mono.ts";

/** Something with a deadline: it may move `deadlineMs` at any time for free; Infinity = none. */
export interface Deadlined {
  deadlineMs: number;
  onDeadline(nowMs: number): void;
}

/** How late a deadline may be noticed; connect, idle and stall time-outs are seconds, so 50 ms is within 5 % of the shortest. */
const TICK_MS = 50;

/**
 * One coarse timer for all deadlines of a thread: moving a deadline is a store into a field, where a timer of its own for
 * each request would cost a list operation at start and at end. Costs O(members) every 50 ms, nothing while there are none.
 */
export class Deadlines {
  readonly #members = new Set<Deadlined>();
  #timer: NodeJS.Timeout | null = null;

  add(member: Deadlined): void {
    this.#members.add(member);
    if (this.#timer === null) {
      this.#timer = setInterval(() => this.#tick(), TICK_MS);
      this.#timer.unref();
    }
  }

  remove(member: Deadlined): void {
    this.#members.delete(member);
  }

  #tick(): void {
    const now = nowMs();
    for (const member of this.#members) {
      if (member.deadlineMs <= now) member.onDeadline(now);
    }
    if (this.#members.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }
}
