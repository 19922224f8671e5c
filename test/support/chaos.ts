import { exponential, splitUniform, type Uniform } from "../../runtime/core/prng.ts";
import { asMonoMs } from "../../runtime/core/time.ts";
import type { Clock } from "../../runtime/ports/clock.ts";
import type { FakeClock } from "./fake-clock.ts";

/** Chance that a message is lost, and that it comes twice. */
const LOST = 0.05;
const REPEATED = 0.05;
/** Mean delay of a message, and of the one in ten that is late: late ones overtake nothing and are overtaken. */
const DELAY_MS = 5;
const LATE = 0.1;
const LATE_MS = 1_500;

/** Carries messages badly while `faulty`: lost, twice, late and out of order, all drawn from the seed. */
export class Chaos {
  faulty = true;
  readonly #clock: FakeClock;
  readonly #uniform: Uniform;

  constructor(clock: FakeClock, seed: number) {
    this.#clock = clock;
    this.#uniform = splitUniform(seed, "chaos");
  }

  carry(deliver: () => void): void {
    if (!this.faulty) {
      this.#clock.after(1, deliver);
      return;
    }
    if (this.#uniform() < LOST) return;
    this.#clock.after(this.#delayMs(), deliver);
    if (this.#uniform() < REPEATED) this.#clock.after(this.#delayMs(), deliver);
  }

  #delayMs(): number {
    return exponential(this.#uniform, this.#uniform() < LATE ? LATE_MS : DELAY_MS);
  }
}

/** The clock of one process: its monotonic time starts at 0, and after `kill` none of its timers runs. */
export class ProcessClock implements Clock {
  readonly #clock: FakeClock;
  readonly #startMs: number;
  #alive = true;

  constructor(clock: FakeClock) {
    this.#clock = clock;
    this.#startMs = clock.monoMs();
  }

  monoMs() {
    return asMonoMs(this.#clock.monoMs() - this.#startMs);
  }

  wallMs() {
    return this.#clock.wallMs();
  }

  now() {
    return { mono: this.monoMs(), wall: this.wallMs() };
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#clock.after(delayMs, () => {
      if (this.#alive) callback();
    });
  }

  kill(): void {
    this.#alive = false;
  }
}
