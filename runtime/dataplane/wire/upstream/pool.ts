import type { Deadlined, Deadlines } from "../deadlines.ts";
import type { Http1Limits } from "../http1/limits.ts";
import { UpstreamConnection, type UpstreamOwner, type UpstreamTarget } from "./connection.ts";

/** Idle connections kept for one replica by one thread. */
const MAX_IDLE_COUNT = 256;
/** Kept idle at most this long: uvicorn and Node close idle connections after 5 s, and a request must not meet that. */
const MAX_IDLE_MS = 4_000;

/** Keep-alive connections of one thread to one start (epoch) of one replica. */
export class UpstreamPool implements Deadlined, UpstreamOwner {
  readonly #target: UpstreamTarget;
  readonly #limits: Http1Limits;
  readonly #deadlines: Deadlines;
  readonly #maxIdleCount: number;
  /** Used most recently last, and taken from the end: the oldest become idle and are dropped. */
  readonly #idle: UpstreamConnection[] = [];
  #closed = false;
  deadlineMs = Number.POSITIVE_INFINITY;
  deadlineIndex = -1;

  constructor(target: UpstreamTarget, limits: Http1Limits, deadlines: Deadlines, maxIdleCount = MAX_IDLE_COUNT) {
    this.#target = target;
    this.#limits = limits;
    this.#deadlines = deadlines;
    this.#maxIdleCount = maxIdleCount;
  }

  /** An idle connection, or a new one that is still connecting. `fresh`: a new one in any case. */
  acquire(fresh = false): UpstreamConnection {
    const idle = fresh ? undefined : this.#idle.pop();
    return idle ?? new UpstreamConnection(this.#target, this.#limits, this);
  }

  onReusable(connection: UpstreamConnection): void {
    if (this.#closed || this.#idle.length >= this.#maxIdleCount) {
      connection.destroy();
      return;
    }
    this.#idle.push(connection);
    if (this.deadlineMs === Number.POSITIVE_INFINITY) {
      this.#deadlines.add(this);
      this.deadlineMs = this.#deadlines.tickedAtMs + MAX_IDLE_MS;
    }
    connection.idleSinceMs = this.#deadlines.tickedAtMs;
  }

  onGone(connection: UpstreamConnection): void {
    const index = this.#idle.lastIndexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  onDeadline(now: number): void {
    let oldest = this.#idle[0];
    while (oldest !== undefined && oldest.idleSinceMs + MAX_IDLE_MS <= now) {
      oldest.destroy();
      oldest = this.#idle[0];
    }
    if (oldest === undefined) {
      this.deadlineMs = Number.POSITIVE_INFINITY;
      this.#deadlines.remove(this);
    } else this.deadlineMs = oldest.idleSinceMs + MAX_IDLE_MS;
  }

  /** Drops idle connections now and busy ones after their answer: the replica is gone from the snapshot. */
  close(): void {
    this.#closed = true;
    this.#deadlines.remove(this);
    for (const connection of this.#idle.slice()) connection.destroy();
  }
}
