import { Worker } from "node:worker_threads";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { nowMs } from "./mono.ts";
import type { FromThread, ThreadStart, ToThread } from "./thread-messages.ts";

/** A thread that dies this soon after its start, twice in a row, is started again only after the pause: a bug at start must not burn a core. */
const QUICK_DEATH_MS = 1_000;
const QUICK_DEATH_PAUSE_MS = 500;
/** The reserve is loaded once the start, or the replacement that took the last one, is over. */
const RESERVE_AFTER_MS = 1_000;
/** One that ended while it waited could not be loaded: it is tried again at a pace that costs next to nothing. */
const RESERVE_AGAIN_MS = 10_000;
/** Threads are looked at this often, and one whose heart has not beaten for so many looks in a row is replaced. */
const LOOK_MS = 1_000;
const MAX_SILENT_LOOKS = 5;
/** The same for one that does not listen yet: without its code kept from last time, on a busy machine, it takes seconds. */
const MAX_STARTING_LOOKS = 30;

/** What the threads need of their process. */
export interface ThreadsHost {
  readonly log: Log;
  readonly clock: Clock;
  /** What a thread that starts now is told. */
  threadStart(thread: number): ThreadStart;
  onThread(message: FromThread): void;
  /** A thread has ended unasked: what it held is nobody's. Called before another one takes its number. */
  retire(thread: number): void;
}

/**
 * A router's worker threads, each started anew whenever it ends unasked or stands still. One more has loaded its code and
 * waits: it takes the place of a dead thread by listening, which is all that is left to do.
 */
export class RouterThreads {
  readonly #host: ThreadsHost;
  readonly #slots: readonly Slot[];
  readonly #beats: Int32Array;
  #reserve: RouterWorker | null = null;
  #isStopping = false;
  #cancelLook = (): void => {};
  #cancelReserve = (): void => {};

  constructor(host: ThreadsHost, count: number) {
    this.#host = host;
    this.#beats = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
    this.#slots = Array.from({ length: count }, (_, thread) => new Slot(thread));
  }

  /** Resolves once all threads listen. Rejects where one ends before. */
  async start(): Promise<void> {
    await Promise.all(
      this.#slots.map((slot) => {
        const listening = Promise.withResolvers<void>();
        slot.onListening = listening.resolve;
        slot.onFirstFailure = listening.reject;
        this.#fill(slot);
        return listening.promise;
      }),
    );
    this.#reserveLater(RESERVE_AFTER_MS);
    this.#lookLater();
  }

  post(message: ToThread): void {
    for (const { worker } of this.#slots) worker?.post(message);
  }

  /** Has all threads take no new requests; resolves once they have ended the present ones. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancelLook();
    this.#cancelReserve();
    await Promise.all(
      this.#slots.map(async (slot) => {
        if (slot.worker === null) return;
        const stopped = Promise.withResolvers<void>();
        slot.onStopped = stopped.resolve;
        slot.worker.post({ kind: "stop" });
        await stopped.promise;
      }),
    );
  }

  async terminate(): Promise<void> {
    await Promise.all([this.#reserve, ...this.#slots.map(({ worker }) => worker)].map((worker) => worker?.terminate()));
  }

  /** Ends one thread as a crash would; resolves with the milliseconds until its successor listens. */
  crash(thread: number): Promise<number> {
    const slot = this.#slots[thread]!;
    const diedAtMs = nowMs();
    return new Promise((resolve) => {
      slot.onListening = () => resolve(nowMs() - diedAtMs);
      void slot.worker?.terminate();
    });
  }

  /** Puts a thread into an empty slot: the one in reserve, or one that has yet to load its code. */
  #fill(slot: Slot): void {
    const worker = this.#reserve ?? this.#load();
    if (worker === this.#reserve) {
      this.#reserve = null;
      this.#reserveLater(RESERVE_AFTER_MS);
    }
    worker.slot = slot;
    slot.worker = worker;
    slot.startedAtMs = nowMs();
    slot.isListening = false;
    slot.silentLooks = 0;
    worker.post({ kind: "start", start: this.#host.threadStart(slot.thread), beats: this.#beats });
  }

  #load(): RouterWorker {
    return new RouterWorker({
      onMessage: (slot, message) => {
        if (message.kind === "listening") {
          slot.isListening = true;
          slot.onFirstFailure = null;
          slot.onListening?.();
          slot.onListening = null;
        } else if (message.kind === "stopped") slot.onStopped?.();
        else this.#host.onThread(message);
      },
      onError: (slot, error) => {
        this.#host.log.error("ROUTER_THREAD_THREW", {
          thread: slot?.thread ?? "reserve",
          why: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
        slot?.onFirstFailure?.(error);
      },
      onEnd: (worker) => this.#ended(worker),
    });
  }

  #ended(worker: RouterWorker): void {
    const { slot } = worker;
    if (slot === null) {
      this.#reserve = null;
      this.#reserveLater(RESERVE_AGAIN_MS);
      return;
    }
    slot.worker = null;
    slot.onStopped?.();
    if (this.#isStopping) return;
    if (slot.onFirstFailure !== null) {
      slot.onFirstFailure(new Error("a router thread ended before it listened"));
      return;
    }
    this.#host.retire(slot.thread);
    slot.quickDeaths = nowMs() - slot.startedAtMs < QUICK_DEATH_MS ? slot.quickDeaths + 1 : 0;
    if (slot.quickDeaths < 2) this.#fill(slot);
    else this.#host.clock.after(QUICK_DEATH_PAUSE_MS, () => this.#refill(slot));
  }

  #refill(slot: Slot): void {
    if (!this.#isStopping) this.#fill(slot);
  }

  #reserveLater(delayMs: number): void {
    this.#cancelReserve();
    if (this.#isStopping) return;
    this.#cancelReserve = this.#host.clock.after(delayMs, () => {
      this.#reserve ??= this.#load();
    });
  }

  #lookLater(): void {
    this.#cancelLook = this.#host.clock.after(LOOK_MS, () => {
      for (const slot of this.#slots) this.#look(slot);
      this.#lookLater();
    });
  }

  /** Looks are counted and not time: when this process did not run, neither did its threads. */
  #look(slot: Slot): void {
    const beats = Atomics.load(this.#beats, slot.thread);
    slot.silentLooks = beats === slot.beats ? slot.silentLooks + 1 : 0;
    slot.beats = beats;
    if (slot.silentLooks !== (slot.isListening ? MAX_SILENT_LOOKS : MAX_STARTING_LOOKS)) return;
    this.#host.log.error("ROUTER_THREAD_STANDS_STILL", {
      thread: slot.thread,
      seconds: (slot.silentLooks * LOOK_MS) / 1_000,
    });
    void slot.worker?.terminate();
  }
}

/** The place of one thread, whichever worker fills it. */
class Slot {
  readonly thread: number;
  worker: RouterWorker | null = null;
  startedAtMs = 0;
  isListening = false;
  quickDeaths = 0;
  /** Its heartbeats as of the last look. */
  beats = 0;
  silentLooks = 0;
  onListening: (() => void) | null = null;
  /** Told of an error before it has listened for the first time. */
  onFirstFailure: ((error: unknown) => void) | null = null;
  onStopped: (() => void) | null = null;

  constructor(thread: number) {
    this.thread = thread;
  }
}

/** What happens to a worker. `slot` is null while it is the reserve. */
interface WorkerEvents {
  onMessage(slot: Slot, message: FromThread): void;
  onError(slot: Slot | null, error: unknown): void;
  onEnd(worker: RouterWorker): void;
}

/** One worker thread. It loads its code at once and serves once it is told its start. */
class RouterWorker {
  readonly #worker: Worker;
  slot: Slot | null = null;

  constructor(events: WorkerEvents) {
    this.#worker = new Worker(new URL("./thread-main.ts", import.meta.url), { name: "router" });
    this.#worker.on("message", (message: FromThread) => {
      if (this.slot !== null) events.onMessage(this.slot, message);
    });
    this.#worker.on("error", (error) => events.onError(this.slot, error));
    this.#worker.on("exit", () => events.onEnd(this));
  }

  post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
