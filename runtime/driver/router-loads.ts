import type { MonoMs } from "../core/time.ts";
import type { RouterLoad } from "../domain/load.ts";
import type { Clock } from "../ports/clock.ts";
import type { FactWriter, LiveBoard } from "./board.ts";

/** A router silent for this long counts as gone: ten reports missed in a row. */
const SILENT_MS = 10_000;
const CHECK_EVERY_MS = 1_000;

/** Takes routers' reports: repeats and older ones are ignored, silent routers are forgotten. */
export class RouterLoads {
  readonly #board: LiveBoard;
  readonly #writer: FactWriter<"routerLoad">;
  readonly #clock: Clock;
  #cancel: () => void = () => {};

  constructor(board: LiveBoard, writer: FactWriter<"routerLoad">, clock: Clock) {
    this.#board = board;
    this.#writer = writer;
    this.#clock = clock;
  }

  start(): void {
    this.#cancel = this.#clock.after(CHECK_EVERY_MS, () => {
      this.#forgetSilent(this.#clock.monoMs());
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  take(load: Omit<RouterLoad, "receivedAtMs">): void {
    const last = this.#board.get("routerLoad", load.router);
    const isNew =
      last.kind === "missing" ||
      load.epoch > last.value.epoch ||
      (load.epoch === last.value.epoch && load.seq > last.value.seq);
    if (isNew) this.#writer.set(load.router, { ...load, receivedAtMs: this.#clock.monoMs() });
  }

  #forgetSilent(nowMs: MonoMs): void {
    for (const router of this.#board.keys("routerLoad")) {
      const load = this.#board.get("routerLoad", router);
      if (load.kind === "known" && nowMs - load.value.receivedAtMs > SILENT_MS) this.#writer.remove(router);
    }
  }
}
