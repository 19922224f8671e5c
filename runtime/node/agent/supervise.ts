import { asMonoMs, type MonoMs } from "../../core/time.ts";

/** When a process that ended is started again. */
export interface RestartPolicy {
  /** Wait before the first restart; doubles with each early end in a row. 0: at once, then as if it were 100 ms. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** A process that ran this long did not end early: the back-off begins anew. */
  readonly healthyAfterMs: number;
  /** Failed starts in a row after which nothing is started until its user says so; null: it never gives up. */
  readonly giveUpAfter: number | null;
  /** From the request to end (SIGTERM) until the process is killed. */
  readonly graceMs: number;
}

/** Ticks (one a second) of silence after which a process that has said `alive` before counts as hung. */
const MAX_SILENT_TICKS = 15;
/** The step that doubles where the first restart is immediate. */
const BASE_DELAY_MS = 100;

/** One supervised process as the supervisor remembers it. */
export interface Slot {
  readonly state:
    | { readonly kind: "waiting"; readonly startAtMs: MonoMs }
    | { readonly kind: "crash-loop" }
    | {
        readonly kind: "running";
        readonly startedAtMs: MonoMs;
        readonly ready: boolean;
        /** Ticks since its last sign of life; null before the first. Ticks, not time: a paused agent must not blame its children. */
        readonly silentTicks: number | null;
        readonly killed: boolean;
      }
    | { readonly kind: "stopping"; readonly killAtMs: MonoMs; readonly killed: boolean };
  /** Starts that ended before the process was ready, in a row. */
  readonly failedStarts: number;
  /** Ends before `healthyAfterMs`, in a row: the exponent of the back-off. */
  readonly earlyEnds: number;
}

/** What the agent has to do for a slot now. `forget`: nothing runs and nothing is wanted. */
export type Action = "none" | "start" | "terminate" | "kill" | "forget";

/** A decision: the slot after it, the one thing to do, and when to ask again at the latest. */
export interface Step {
  readonly slot: Slot;
  readonly action: Action;
  readonly wakeAtMs: MonoMs | null;
}

/** A slot whose process is started at the first decision. */
export function newSlot(now: MonoMs): Slot {
  return { state: { kind: "waiting", startAtMs: now }, failedStarts: 0, earlyEnds: 0 };
}

/** What to do for a slot, from nothing but its state and whether it is wanted. Asked again at the same moment it gives `none`. */
export function decideSlot(slot: Slot, wanted: boolean, policy: RestartPolicy, now: MonoMs): Step {
  const { state } = slot;
  const step = (action: Action, next: Slot["state"] = state, wakeAtMs: MonoMs | null = null): Step => ({
    slot: next === state ? slot : { ...slot, state: next },
    action,
    wakeAtMs,
  });
  switch (state.kind) {
    case "crash-loop":
      return step(wanted ? "none" : "forget");
    case "waiting":
      if (!wanted) return step("forget");
      if (now < state.startAtMs) return step("none", state, state.startAtMs);
      return step("start", { kind: "running", startedAtMs: now, ready: false, silentTicks: null, killed: false });
    case "running": {
      const killAtMs = asMonoMs(now + policy.graceMs);
      if (!wanted) return step("terminate", { kind: "stopping", killAtMs, killed: state.killed }, killAtMs);
      const hung = (state.silentTicks ?? 0) >= MAX_SILENT_TICKS;
      return hung && !state.killed ? step("kill", { ...state, killed: true }) : step("none");
    }
    case "stopping":
      if (state.killed) return step("none");
      return now < state.killAtMs ? step("none", state, state.killAtMs) : step("kill", { ...state, killed: true });
  }
}

/** The slot after its process ended. One that was asked to end starts again at once, should it be wanted by then. */
export function afterExit(slot: Slot, policy: RestartPolicy, now: MonoMs): Slot {
  const { state } = slot;
  if (state.kind !== "running") return newSlot(now);
  const failedStarts = state.ready ? 0 : slot.failedStarts + 1;
  const earlyEnds = now - state.startedAtMs >= policy.healthyAfterMs ? 0 : slot.earlyEnds + 1;
  if (policy.giveUpAfter !== null && failedStarts >= policy.giveUpAfter) {
    return { state: { kind: "crash-loop" }, failedStarts, earlyEnds };
  }
  const startAtMs = asMonoMs(now + restartDelayMs(earlyEnds, policy));
  return { state: { kind: "waiting", startAtMs }, failedStarts, earlyEnds };
}

/** The slot after its process said that it lives. */
export function afterBeat(slot: Slot): Slot {
  return slot.state.kind === "running" ? { ...slot, state: { ...slot.state, silentTicks: 0 } } : slot;
}

/** The slot after its process said that it is ready. */
export function afterReady(slot: Slot): Slot {
  if (slot.state.kind !== "running") return slot;
  return { ...slot, state: { ...slot.state, ready: true, silentTicks: 0 }, failedStarts: 0 };
}

/** The slot one tick later. Silence is counted only once a process has spoken, since loading may take long. */
export function afterTick(slot: Slot): Slot {
  if (slot.state.kind !== "running" || slot.state.silentTicks === null) return slot;
  return { ...slot, state: { ...slot.state, silentTicks: slot.state.silentTicks + 1 } };
}

/** Milliseconds until the start after the n-th early end in a row; n = 0 is an end after a healthy run. */
export function restartDelayMs(earlyEnds: number, policy: RestartPolicy): number {
  if (earlyEnds <= 1) return policy.firstDelayMs;
  const doublings = Math.min(earlyEnds - 1, 30);
  return Math.min(policy.maxDelayMs, (policy.firstDelayMs || BASE_DELAY_MS / 2) * 2 ** doublings);
}
