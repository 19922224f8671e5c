import type { ReplicaId } from "../../domain/names.ts";
import { compareGenerations } from "../../domain/snapshot.ts";
import type { Slot } from "./memory.ts";
import type { FleetWorld } from "./world.ts";

/** Requests in flight on a replica: what the routers count or what its keeper sees, whichever is more. */
export function workOf(world: FleetWorld, id: ReplicaId): number {
  const counted = world.routers.flatMap((router) => router.rows).filter((row) => row.id === id);
  const seen = world.reports.find((report) => report.id === id)?.inFlight ?? 0;
  return Math.max(
    seen,
    counted.reduce((sum, row) => sum + row.inFlight, 0),
  );
}

/** Notes the first snapshot in which a draining replica is closed to new requests. */
export function markShown(world: FleetWorld, slot: Slot): Slot {
  if (slot.drain === null || slot.drain.shownIn !== null || world.snapshot === null) return slot;
  if (world.snapshot.open.includes(slot.id)) return slot;
  return { ...slot, drain: { ...slot.drain, shownIn: world.snapshot.generation } };
}

/**
 * Whether a draining replica may end. By proof: nothing runs, or it never was ready, or its keeper sees no work and
 * every live router has reported, under a snapshot that closed it, that it has none there. Without proof: when its grace is over.
 * With no live router there is no proof: routers serve on without the controller.
 */
export function isIdle(world: FleetWorld, slot: Slot, drainingForMs: number, graceMs: number): boolean {
  if (drainingForMs >= graceMs) return true;
  const hosted = world.hosted.find((candidate) => candidate.id === slot.id);
  const report = world.reports.find((candidate) => candidate.id === slot.id);
  if (hosted === undefined && report === undefined) return true;
  if (hosted?.state === "crash-loop" || !slot.everReady) return true;
  const shownIn = slot.drain?.shownIn ?? null;
  if (shownIn === null || world.routers.length === 0 || (report?.inFlight ?? 0) > 0) return false;
  return world.routers.every(({ generation, rows }) => {
    if (generation === null || compareGenerations(generation, shownIn) < 0) return false;
    const row = rows.find((candidate) => candidate.id === slot.id);
    return row === undefined || (row.draining && row.inFlight === 0);
  });
}
