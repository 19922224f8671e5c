import type { Because, Verdict } from "../../core/controller.ts";
import { asMonoMs, type MonoMs, type Now } from "../../core/time.ts";
import { ordinalOfReplica, replicaIdOf } from "../../domain/names.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import { isUnheard, SETTLE_MS } from "../../domain/settle.ts";
import { isIdle, isReady, markShown, workOf } from "./drain.ts";
import { byOrdinal, type FleetMemory, type Slot, slotOf } from "./memory.ts";
import type { FleetWorld } from "./world.ts";

/** A crash-looping replica is replaced after this, doubled with each replacement in a row: a broken machine or file may heal. */
const CRASH_RETRY_FIRST_MS = 60_000;
const CRASH_RETRY_MAX_MS = 960_000;
/** While replicas drain the deadline is looked at this often, beside each report. */
const DRAIN_CHECK_MS = 1_000;

/**
 * Decides which replicas of a version exist: min(wanted, granted) that serve, and those still draining.
 * Identities stay: what is there is kept, draining ones are taken back before new ones start, surplus ones drain by
 * least work and leave once they are idle by proof or their grace is over.
 */
export function decideFleet(world: FleetWorld, before: FleetMemory, now: Now): Verdict<FleetMemory, ReplicaSet> {
  const memory = refresh(world, before, now);
  const version = memory.version;
  if (!memory.settled || version === null) {
    const wakeAtMs = version === null ? null : asMonoMs((memory.startedAtMs ?? now.mono) + SETTLE_MS);
    return { memory, output: null, because: explain(world, memory.slots, "hold: restart"), wakeAtMs };
  }
  const { count, reason } = countOf(world, memory.slots);
  const alive = memory.slots.filter((slot) => !crashedTooLong(slot, memory.crashRetries, now.mono));
  const grown = grow(alive, count, memory.nextOrdinal, version.id);
  const shrunk = shrink(world, grown.slots, count, now.mono);
  const slots = shrunk
    .map((slot) => markShown(world, slot))
    .filter((slot) => slot.drain === null || !isIdle(world, slot, now.mono - slot.drain.sinceMs, memory.requestMs));
  const after: FleetMemory = {
    ...memory,
    slots,
    nextOrdinal: grown.nextOrdinal,
    crashRetries: memory.crashRetries + memory.slots.length - alive.length,
  };
  const over = slots.length === 0 && world.phase !== "serving" && world.phase !== "staging";
  return {
    memory: after,
    output: over ? null : { version, replicas: slots.map(({ id, drain }) => ({ id, draining: drain !== null })) },
    because: explain(world, slots, reason),
    wakeAtMs: nextLook(after, now.mono),
  };
}

/** Takes in what the world says of each slot. */
function refresh(world: FleetWorld, before: FleetMemory, now: Now): FleetMemory {
  const startedAtMs = before.startedAtMs ?? now.mono;
  const settled = before.settled || isTold(world) || now.mono - startedAtMs >= SETTLE_MS;
  const known = before.settled ? before.slots : adopt(world, before.slots);
  const crashed = new Set(world.hosted.filter((hosted) => hosted.state === "crash-loop").map((hosted) => hosted.id));
  const slots = known.map((slot): Slot => {
    const resumed = settled && slot.drain === null && before.drainingBefore.includes(slot.id);
    return {
      id: slot.id,
      everReady: slot.everReady || isReady(world, slot.id),
      drain: resumed ? { sinceMs: now.mono, shownIn: null } : slot.drain,
      crashedSinceMs: crashed.has(slot.id) ? (slot.crashedSinceMs ?? now.mono) : null,
    };
  });
  return {
    startedAtMs,
    settled,
    slots,
    drainingBefore: settled ? [] : before.drainingBefore,
    nextOrdinal: Math.max(before.nextOrdinal, ...slots.map((slot) => ordinalOfReplica(slot.id) + 1)),
    crashRetries: slots.some((slot) => isReady(world, slot.id)) ? 0 : before.crashRetries,
    version: world.version ?? before.version,
    requestMs: world.requestMs ?? before.requestMs,
  };
}

/** The host has told all it runs, and the keeper of each running replica has reported. */
function isTold(world: FleetWorld): boolean {
  const reports = new Map(world.reports.map((report) => [report.id, report]));
  return world.hostKnown && !world.hosted.some((hosted) => isUnheard(hosted, reports.get(hosted.id) ?? null));
}

/** Replicas that run though the kept memory does not know them: the process ended before it could write. */
function adopt(world: FleetWorld, slots: readonly Slot[]): readonly Slot[] {
  const known = new Set(slots.map((slot) => slot.id));
  const strangers = world.hosted.filter((hosted) => hosted.state !== "stopping" && !known.has(hosted.id));
  return [...slots, ...strangers.map((hosted) => slotOf(hosted.id, true))].sort(byOrdinal);
}

/** How many replicas shall serve, and why. */
function countOf(world: FleetWorld, slots: readonly Slot[]): { readonly count: number; readonly reason: string } {
  const live = slots.filter((slot) => slot.drain === null).length;
  if (world.phase !== "serving" && world.phase !== "staging") return { count: 0, reason: "drain: version ends" };
  const asked = Math.max(world.wanted ?? live, world.phase === "staging" ? 1 : 0);
  const count = Math.min(asked, world.granted ?? live);
  if (world.granted === null) return { count, reason: "hold: missing-grant" };
  if (world.wanted === null && asked === live) return { count, reason: "hold: missing-wanted" };
  if (count < asked) return { count, reason: "limit: granted" };
  return { count, reason: count > live ? "scale: up" : count < live ? "scale: down" : "hold: as wanted" };
}

/** Takes draining replicas back, those that became ready first, then starts new ones. */
function grow(slots: readonly Slot[], count: number, firstOrdinal: number, version: string) {
  const live = slots.filter((slot) => slot.drain === null);
  const missing = Math.max(0, count - live.length);
  const resting = slots
    .filter((slot) => slot.drain !== null && slot.crashedSinceMs === null)
    .sort((a, b) => Number(b.everReady) - Number(a.everReady) || byOrdinal(a, b));
  const back = new Set(resting.slice(0, missing).map((slot) => slot.id));
  const kept = slots.map((slot) => (back.has(slot.id) ? { ...slot, drain: null } : slot));
  const news = Array.from({ length: missing - back.size }, (_, index) =>
    slotOf(replicaIdOf(version, firstOrdinal + index), false),
  );
  return { slots: [...kept, ...news], nextOrdinal: firstOrdinal + news.length };
}

/** Starts to drain the surplus: least work first, then those not ready, then the youngest. */
function shrink(world: FleetWorld, slots: readonly Slot[], count: number, nowMs: MonoMs): readonly Slot[] {
  const live = slots.filter((slot) => slot.drain === null);
  const surplus = live.length - count;
  if (surplus <= 0) return slots;
  const ranked = live
    .map((slot) => ({ slot, work: workOf(world, slot.id), ready: Number(isReady(world, slot.id)) }))
    .sort((a, b) => a.work - b.work || a.ready - b.ready || byOrdinal(b.slot, a.slot));
  const victims = new Set(ranked.slice(0, surplus).map(({ slot }) => slot.id));
  return slots.map((slot) => (victims.has(slot.id) ? { ...slot, drain: { sinceMs: nowMs, shownIn: null } } : slot));
}

function crashRetryMs(retries: number): number {
  return Math.min(CRASH_RETRY_MAX_MS, CRASH_RETRY_FIRST_MS * 2 ** retries);
}

function crashedTooLong(slot: Slot, retries: number, nowMs: MonoMs): boolean {
  return slot.crashedSinceMs !== null && nowMs - slot.crashedSinceMs >= crashRetryMs(retries);
}

function nextLook(memory: FleetMemory, nowMs: MonoMs): MonoMs | null {
  const retryMs = crashRetryMs(memory.crashRetries);
  const looks = memory.slots.flatMap((slot) => [
    ...(slot.drain === null ? [] : [Math.min(nowMs + DRAIN_CHECK_MS, slot.drain.sinceMs + memory.requestMs)]),
    ...(slot.crashedSinceMs === null ? [] : [slot.crashedSinceMs + retryMs]),
  ]);
  return looks.length === 0 ? null : asMonoMs(Math.min(...looks));
}

function explain(world: FleetWorld, slots: readonly Slot[], reason: string): Because {
  const draining = slots.filter((slot) => slot.drain !== null).length;
  return {
    reason,
    inputs: {
      phase: world.phase,
      wanted: world.wanted,
      granted: world.granted,
      live: slots.length - draining,
      draining,
    },
  };
}
