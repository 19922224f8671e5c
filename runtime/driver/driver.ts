import { assert } from "../core/assert.ts";
import { canonicalJson } from "../core/canonical.ts";
import type { Controller } from "../core/controller.ts";
import type { BoardView, FactName } from "../domain/board.ts";
import { shadowControllerName } from "../domain/names.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { DecisionLog, KeptStore } from "../ports/stores.ts";
import type { LiveBoard } from "./board.ts";
import { DueQueue } from "./due-queue.ts";
import { KeptWriter } from "./kept-writer.ts";
import { existingKeys, exists, touchedBy } from "./keys.ts";
import { type Entry, type Registration, type Seat, seatOf } from "./seat.ts";

/** Decisions in one turn of the event loop; about 5 ms of work at 0.1 ms each, so that sockets are not kept waiting. */
const BATCH = 64;
/** Back-off of a key whose controller throws: it is a bug, and trying again at once would only log it again. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;

/** What the driver works with. */
export interface DriverPorts {
  readonly board: LiveBoard;
  readonly clock: Clock;
  readonly log: Log;
  readonly kept: KeptStore;
  readonly decisions: DecisionLog;
}

/** How often a controller decided with a reason. */
export interface DecisionCount {
  readonly controller: string;
  readonly reason: string;
  readonly count: number;
}

/**
 * The one loop that runs all controllers; it decides nothing itself.
 * A key is decided when something it listens to changed, at its `wakeAtMs`, and at least each `everyMs`; never within
 * `minGapMs` of its last decision. The longest-due key goes first and equal ones go in the order of registration, so a
 * change runs down the chain of controllers in one turn and no key can starve another. At most 64 decisions are made
 * before the event loop gets its turn.
 */
export class Driver {
  readonly #ports: DriverPorts;
  readonly #seats: Seat[] = [];
  readonly #registrations = new Map<string, readonly FactName[]>();
  readonly #due = new DueQueue<Entry>((entry) => entry.rank);
  readonly #counts = new Map<string, { readonly controller: string; readonly reason: string; count: number }>();
  readonly #keptWriter: KeptWriter;
  #unsubscribe: (() => void) | null = null;
  #timer: { readonly atMs: number; cancel(): void } | null = null;
  /** While a batch runs, and after the end: no timer is set. */
  #holdsTimer = false;

  constructor(ports: DriverPorts) {
    this.#ports = ports;
    this.#keptWriter = new KeptWriter(ports.kept, ports.clock, ports.log);
  }

  /** Adds a controller. Requires: before `start`; register in the order in which facts flow. */
  add<W, M, K, O>(registration: Registration<W, M, K, O>): void {
    assert(this.#unsubscribe === null, "controllers are added before the driver starts");
    const { name } = registration.controller;
    assert(!this.#registrations.has(name), `the controller ${name} is registered twice`);
    this.#registrations.set(name, registration.listens);
    this.#seats.push(seatOf(name, registration));
  }

  /**
   * Adds a controller that decides beside the live one of the same name on the live Board and writes nothing:
   * its decisions stand in the decision log under `shadowControllerName`. Where it throws, only it is held back.
   */
  addShadow<W, M, K, O>(name: string, controller: Controller<BoardView, W, M, K, O>): void {
    const listens = this.#registrations.get(controller.name);
    assert(listens !== undefined, `no live controller ${controller.name} for the shadow ${name}`);
    const seatName = shadowControllerName(controller.name, name);
    assert(!this.#seats.some((seat) => seat.name === seatName), `the shadow ${seatName} is added twice`);
    this.#seats.push(seatOf(seatName, { controller, listens, publish: () => {} }));
  }

  /** Starts to run: every existing key is dirty. */
  start(): void {
    assert(this.#unsubscribe === null, "the driver is started once");
    this.#unsubscribe = this.#ports.board.subscribe((fact, key) => this.#changed(fact, key));
    for (const seat of this.#seats)
      for (const key of existingKeys(this.#ports.board, seat.scope)) this.#touch(seat, key);
    this.#arm();
  }

  /** Makes a key dirty as if a fact it listens to had changed. */
  touch(controller: string, key: string): void {
    for (const seat of this.#seats) if (seat.name === controller) this.#touch(seat, key);
    this.#arm();
  }

  /** Stops deciding and writes what is to be kept. */
  stop(): void {
    this.#unsubscribe?.();
    this.#timer?.cancel();
    this.#timer = null;
    this.#holdsTimer = true;
    this.#keptWriter.close();
  }

  /** Decisions made since the start, by controller and reason. */
  counts(): readonly DecisionCount[] {
    return [...this.#counts.values()];
  }

  #changed(fact: FactName, key: string): void {
    for (const seat of this.#seats) {
      if (!seat.listens.includes(fact)) continue;
      const touched = touchedBy(this.#ports.board, seat.scope, fact, key);
      const keys = touched === "all" ? existingKeys(this.#ports.board, seat.scope) : touched;
      for (const each of keys) this.#touch(seat, each);
      if (fact === "rollout" && seat.scope === "version") this.#touchLeftovers(seat);
    }
    this.#arm();
  }

  /** A version that left its rollout is no longer named by it, and must still be asked to end. */
  #touchLeftovers(seat: Seat): void {
    for (const key of seat.entries.keys()) if (!exists(this.#ports.board, seat.scope, key)) this.#touch(seat, key);
  }

  #touch(seat: Seat, key: string): void {
    const entry = seat.entries.get(key) ?? this.#open(seat, key);
    if (entry === null || entry.failuresInRow > 0) return;
    const nowMs = this.#ports.clock.monoMs();
    const earliest = entry.lastAtMs === null ? nowMs : Math.max(nowMs, entry.lastAtMs + seat.minGapMs);
    const due = this.#due.dueOf(entry);
    if (due === null || earliest < due) this.#due.set(entry, earliest);
  }

  #open(seat: Seat, key: string): Entry | null {
    if (!exists(this.#ports.board, seat.scope, key)) return null;
    const kept = this.#ports.kept.get(seat.name, key);
    const entry: Entry = {
      seat,
      key,
      rank: this.#seats.indexOf(seat),
      memory: null,
      kept,
      lastAtMs: null,
      failuresInRow: 0,
      reason: null,
      outputText: null,
      keptText: kept === null ? null : canonicalJson(kept),
    };
    seat.entries.set(key, entry);
    return entry;
  }

  #arm(): void {
    if (this.#holdsTimer) return;
    const next = this.#due.nextDueMs();
    if (next === null || (this.#timer !== null && this.#timer.atMs <= next)) return;
    this.#timer?.cancel();
    // Whole milliseconds, rounded up: a timer a rounding error early would find nothing due and be set again for ever.
    const delayMs = Math.max(0, Math.ceil(next - this.#ports.clock.monoMs()));
    this.#timer = { atMs: next, cancel: this.#ports.clock.after(delayMs, () => this.#run()) };
  }

  #run(): void {
    this.#timer = null;
    this.#holdsTimer = true;
    for (let made = 0; made < BATCH; made++) {
      const entry = this.#due.takeDue(this.#ports.clock.monoMs());
      if (entry === null) break;
      this.#decide(entry);
    }
    this.#holdsTimer = false;
    this.#arm();
  }

  #decide(entry: Entry): void {
    const { seat, key } = entry;
    const now = this.#ports.clock.now();
    entry.lastAtMs = now.mono;
    try {
      const turn = seat.turn(entry, this.#ports.board, now);
      entry.failuresInRow = 0;
      this.#count(seat.name, turn.reason);
      if (turn.record !== null) this.#append(turn.record);
      if (turn.outputIsNull && !exists(this.#ports.board, seat.scope, key)) {
        this.#close(entry);
        return;
      }
      const keptText = canonicalJson(turn.kept);
      if (keptText !== entry.keptText) {
        entry.keptText = keptText;
        this.#keptWriter.put(seat.name, key, turn.kept);
      }
      const wakeAtMs = turn.wakeAtMs ?? Number.POSITIVE_INFINITY;
      this.#due.set(
        entry,
        Math.min(
          now.mono + seat.everyMs,
          Math.max(wakeAtMs, now.mono + seat.minGapMs),
          this.#due.dueOf(entry) ?? Infinity,
        ),
      );
    } catch (error) {
      entry.failuresInRow += 1;
      const backOffMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** (entry.failuresInRow - 1));
      this.#due.set(entry, now.mono + backOffMs);
      this.#ports.log.error("CONTROLLER_THREW", {
        controller: seat.name,
        key,
        why: error instanceof Error ? (error.stack ?? error.message) : String(error),
        retryInMs: backOffMs,
      });
    }
  }

  #close(entry: Entry): void {
    entry.seat.entries.delete(entry.key);
    this.#due.remove(entry);
    this.#keptWriter.remove(entry.seat.name, entry.key);
  }

  #count(controller: string, reason: string): void {
    const id = `${controller} ${reason}`;
    const row = this.#counts.get(id);
    if (row === undefined) this.#counts.set(id, { controller, reason, count: 1 });
    else row.count += 1;
  }

  #append(record: Parameters<DecisionLog["append"]>[0]): void {
    try {
      this.#ports.decisions.append(record);
    } catch (error) {
      this.#ports.log.error("DECISION_NOT_LOGGED", { controller: record.controller, why: String(error) });
    }
  }
}
