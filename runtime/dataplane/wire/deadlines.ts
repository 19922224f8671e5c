import { nowMs } from "./mono.ts";

/** Something with a deadline: it may move `deadlineMs` at any time for free; Infinity = none. */
export interface Deadlined {
  deadlineMs: number;
  /** Where its Deadlines keep it; -1 = nowhere. Theirs alone to change. */
  deadlineIndex: number;
  onDeadline(nowMs: number): void;
}

/** How late a deadline may be noticed; connect, idle and stall time-outs are seconds, so 50 ms is within 5 % of the shortest. */
const TICK_MS = 50;

/**
 * One coarse timer for all deadlines of a thread: moving a deadline is a store into a field, where a timer of its own for
 * each request would cost a list operation at start and at end. Costs O(members) every 50 ms, nothing while there are none.
 */
export class Deadlines {
  readonly #members: Deadlined[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** The time at the last tick, right within a tick while there are members: reading the clock for each deadline costs more than all else here. */
  tickedAtMs = nowMs();

  add(member: Deadlined): void {
    if (member.deadlineIndex >= 0) return;
    member.deadlineIndex = this.#members.length;
    this.#members.push(member);
    if (this.#timer === null) {
      this.tickedAtMs = nowMs();
      this.#timer = setInterval(() => this.#tick(), TICK_MS);
      this.#timer.unref();
    }
  }

  /** A deadline that lies `delayMs` from now, a tick more at most. Requires: a member. */
  after(delayMs: number): number {
    return this.tickedAtMs + TICK_MS + delayMs;
  }

  /** The last member takes the place of the one that leaves. */
  remove(member: Deadlined): void {
    const index = member.deadlineIndex;
    if (index < 0) return;
    member.deadlineIndex = -1;
    const last = this.#members.pop()!;
    if (last === member) return;
    this.#members[index] = last;
    last.deadlineIndex = index;
  }

  #tick(): void {
    const now = nowMs();
    this.tickedAtMs = now;
    // From the end: one that leaves is replaced by one that was looked at already.
    for (let index = this.#members.length - 1; index >= 0; index--) {
      const member = this.#members[index];
      if (member !== undefined && member.deadlineMs <= now) member.onDeadline(now);
    }
    if (this.#members.length === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }
}
