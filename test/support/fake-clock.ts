import { VirtualClock } from "../../runtime/simulator/virtual-clock.ts";

/** Simulated time that a test moves on by spans. */
export class FakeClock extends VirtualClock {
  /** Runs all that is due within the next `spanMs`, each at its own time, then stands at the end of the span. */
  runFor(spanMs: number): void {
    this.runUntil(this.monoMs() + spanMs);
  }
}
