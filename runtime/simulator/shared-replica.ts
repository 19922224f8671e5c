import type { Clock } from "../ports/clock.ts";
import type { ServiceModel } from "./service-model.ts";

interface Work {
  /** The replica's attained work per request at which this one is done. */
  readonly doneAt: number;
  readonly finished: () => void;
}

/**
 * One replica, event by event: its requests share its throughput evenly (processor sharing with a rate that depends on
 * how many there are). Every request attains the same work, so the next to end is the one with the least left.
 */
export class SharedReplica {
  readonly #clock: Clock;
  readonly #service: ServiceModel;
  /** Sorted by `doneAt`. */
  #work: Work[] = [];
  #attained = 0;
  #atMs = 0;
  #cancel: () => void = () => {};
  cpuMsTotal = 0;
  completed = 0;

  constructor(clock: Clock, service: ServiceModel) {
    this.#clock = clock;
    this.#service = service;
    this.#atMs = clock.monoMs();
  }

  get inFlight(): number {
    return this.#work.length;
  }

  /** Starts a request of `size` times the mean work; `finished` is called at its end. The returned function aborts it. */
  start(size: number, finished: () => void): () => void {
    this.#advance();
    const work: Work = { doneAt: this.#attained + size, finished };
    let index = this.#work.length;
    while (index > 0 && this.#work[index - 1]!.doneAt > work.doneAt) index--;
    this.#work.splice(index, 0, work);
    this.#arm();
    return () => {
      this.#advance();
      this.#work = this.#work.filter((other) => other !== work);
      this.#arm();
    };
  }

  /** Ends the replica: what it held is gone without an answer. */
  end(): void {
    this.#cancel();
    this.#work = [];
  }

  /** Brings CPU and progress up to the present. */
  #advance(): void {
    const nowMs = this.#clock.monoMs();
    const count = this.#work.length;
    if (count > 0) {
      this.#attained += ((nowMs - this.#atMs) * this.#service.completionsPerMs(count)) / count;
      this.cpuMsTotal += (nowMs - this.#atMs) * this.#service.cpuUse(count);
    }
    this.#atMs = nowMs;
  }

  #arm(): void {
    this.#cancel();
    const first = this.#work[0];
    if (first === undefined) return;
    const perMs = this.#service.completionsPerMs(this.#work.length) / this.#work.length;
    this.#cancel = this.#clock.after((first.doneAt - this.#attained) / perMs, () => this.#finish(first));
  }

  #finish(work: Work): void {
    this.#advance();
    this.#work.shift();
    this.completed++;
    this.#arm();
    work.finished();
  }
}
