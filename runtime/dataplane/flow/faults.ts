import type { Uniform } from "../../core/prng.ts";
import type { FaultKind, FaultVerdict } from "./lease.ts";
import type { FlowMemory } from "./memory.ts";

/** Values of the `state` column. */
export const SEAT_STATE = {
  inService: 0,
  /** Nobody listens there: certain, so no share of the fleet limits it and panic does not bring it back. */
  excluded: 1,
  /** Judged by its answers: limited to a share of the fleet, and ignored in panic. */
  ejected: 2,
} as const;

/** Faults in a row that eject (Envoy's consecutive_5xx). */
const FAULTS_TO_EJECT = 5;
const EXCLUDE_FIRST_MS = 1_000;
const EXCLUDE_MAX_MS = 30_000;
/** Envoy's base_ejection_time and max_ejection_time. */
const EJECT_STEP_MS = 30_000;
const EJECT_MAX_MS = 300_000;
/** Share of a fleet that may be ejected (Envoy's max_ejection_percent); one replica may always, if the rest can carry on. */
const EJECT_RATIO = 0.1;
/** Replicas that an ejection must leave in service; in a fleet of two it is one. */
const EJECT_LEAVES = 2;
/** Share ejected above which ejections are ignored: then the judgement is wrong more likely than the fleet. */
const PANIC_RATIO = 0.5;
/** Exclusions end within 20 % of their time, so that routers do not probe in step. */
const JITTER_RATIO = 0.2;

/** How long a reading of panic is used: it costs a scan of the fleet. */
const PANIC_READ_MS = 100;

/** What faults need of a version. */
export interface Fleet {
  /** Slots of the seats that may get requests: the fleet whose shares count. */
  readonly slots: Int32Array;
  panics: boolean;
  panicReadAtMs: number;
}

/** What faults need of a lease. */
export interface Judged {
  readonly sentAtMs: number;
  probing: boolean;
}

/**
 * Passive health of replicas, in columns that the threads of a process share: five faults in a row are five whichever
 * threads saw them, a half-open probe is one per process, and the share of a fleet that is out is the same for all.
 */
export class Faults {
  readonly #memory: FlowMemory;
  readonly #thread: number;
  readonly #uniform: Uniform;

  constructor(memory: FlowMemory, thread: number, uniform: Uniform) {
    this.#memory = memory;
    this.#thread = thread;
    this.#uniform = uniform;
  }

  /** Whether a seat that is out of service may be tried: its time is over and nobody probes it, or the fleet is in panic. */
  mayTry(slot: number, fleet: Fleet, nowMs: number): boolean {
    return this.#halfOpen(slot, nowMs) || this.#panics(slot, fleet, nowMs);
  }

  /** Claims the probe of a seat that is out of service; false when another thread was first. In panic no probe is needed. */
  claimProbe(slot: number, fleet: Fleet, lease: Judged, nowMs: number): boolean {
    if (this.#memory.state[slot] === SEAT_STATE.inService) return true;
    if (!this.#halfOpen(slot, nowMs)) return this.#panics(slot, fleet, nowMs);
    if (Atomics.compareExchange(this.#memory.prober, slot, 0, this.#thread + 1) !== 0) return false;
    lease.probing = true;
    return true;
  }

  /** The replica did its work: ends a run of faults, and a probe with success. Returns whether that brought it back into service. */
  succeeded(lease: Judged, slot: number, nowMs: number): boolean {
    this.progressed(slot, nowMs);
    if (this.#memory.faultRun[slot] !== 0) Atomics.store(this.#memory.faultRun, slot, 0);
    if (!lease.probing) return false;
    Atomics.store(this.#memory.state, slot, SEAT_STATE.inService);
    this.abandonProbe(lease, slot);
    return true;
  }

  progressed(slot: number, nowMs: number): void {
    this.#memory.progressMs[slot] = nowMs;
  }

  /** A probe that ended without telling anything (client gone): the next request probes. */
  abandonProbe(lease: Judged, slot: number): void {
    if (!lease.probing) return;
    lease.probing = false;
    Atomics.store(this.#memory.prober, slot, 0);
  }

  /** Counts a fault of the seat that the lease holds and takes the seat out of service where the rules say so. */
  fault(lease: Judged, slot: number, fleet: Fleet, kind: FaultKind, nowMs: number): FaultVerdict {
    const timedOut = kind === "timeout" || kind === "connect-timeout";
    if (timedOut && this.#memory.progressMs[slot]! > lease.sentAtMs) {
      this.abandonProbe(lease, slot);
      return "ignored";
    }
    Atomics.add(this.#memory.faults, slot, 1);
    const run = Atomics.add(this.#memory.faultRun, slot, 1) + 1;
    const state = Atomics.load(this.#memory.state, slot);
    let verdict: FaultVerdict = "counted";
    if (kind === "connect-refused") {
      if (state !== SEAT_STATE.excluded || lease.probing) {
        if (this.#takeOut(slot, state, SEAT_STATE.excluded, nowMs)) verdict = "excluded";
      }
    } else if (lease.probing || (run >= FAULTS_TO_EJECT && state === SEAT_STATE.inService)) {
      const to = lease.probing ? state : SEAT_STATE.ejected;
      if ((lease.probing || this.#mayEject(fleet, 1)) && this.#takeOut(slot, state, to, nowMs)) {
        verdict = to === SEAT_STATE.excluded ? "excluded" : this.#confirmEjection(slot, fleet, lease);
      }
    }
    this.abandonProbe(lease, slot);
    return verdict;
  }

  #halfOpen(slot: number, nowMs: number): boolean {
    return nowMs >= this.#memory.outUntilMs[slot]! && this.#memory.prober[slot] === 0;
  }

  #panics(slot: number, fleet: Fleet, nowMs: number): boolean {
    if (this.#memory.state[slot] !== SEAT_STATE.ejected) return false;
    if (nowMs - fleet.panicReadAtMs < PANIC_READ_MS) return fleet.panics;
    let ejected = 0;
    for (const other of fleet.slots) {
      if (this.#memory.state[other] === SEAT_STATE.ejected && nowMs < this.#memory.outUntilMs[other]!) ejected++;
    }
    fleet.panicReadAtMs = nowMs;
    fleet.panics = ejected > PANIC_RATIO * fleet.slots.length;
    return fleet.panics;
  }

  /** Whether `more` further seats may be ejected from the fleet. */
  #mayEject(fleet: Fleet, more: number): boolean {
    const size = fleet.slots.length;
    let ejected = more;
    let inService = size - more;
    for (const slot of fleet.slots) {
      const state = this.#memory.state[slot];
      if (state !== SEAT_STATE.inService) inService--;
      if (state === SEAT_STATE.ejected) ejected++;
    }
    return (
      inService >= Math.min(EJECT_LEAVES, size - 1) &&
      ejected <= Math.max(1, Math.floor(EJECT_RATIO * size)) &&
      size > 1
    );
  }

  /** Two threads may eject two seats at the same moment: each looks again after its own, and takes it back if that was one too many. */
  #confirmEjection(slot: number, fleet: Fleet, lease: Judged): FaultVerdict {
    if (lease.probing || this.#mayEject(fleet, 0)) return "ejected";
    Atomics.store(this.#memory.state, slot, SEAT_STATE.inService);
    return "counted";
  }

  /** Sets until when, then the state: a thread that sees the state sees a time that is not over. False when another thread was first. */
  #takeOut(slot: number, from: number, to: number, nowMs: number): boolean {
    const excluded = to === SEAT_STATE.excluded;
    const maxMs = excluded ? EXCLUDE_MAX_MS : EJECT_MAX_MS;
    const previousUntilMs = this.#memory.outUntilMs[slot]!;
    // In service for as long as the longest absence: what was before is forgotten.
    const repeated = from !== SEAT_STATE.inService || nowMs - previousUntilMs < maxMs;
    const count = repeated ? this.#memory.outCount[slot]! + 1 : 1;
    const baseMs = excluded ? EXCLUDE_FIRST_MS * 2 ** Math.min(count - 1, 5) : EJECT_STEP_MS * count;
    const jitter = 1 + JITTER_RATIO * (2 * this.#uniform() - 1);
    this.#memory.outUntilMs[slot] = nowMs + Math.min(maxMs, baseMs) * (excluded ? jitter : 1);
    if (Atomics.compareExchange(this.#memory.state, slot, from, to) !== from) return false;
    this.#memory.outCount[slot] = count;
    return true;
  }
}
