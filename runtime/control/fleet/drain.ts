import { oncePer } from "../../core/once-per.ts";
import type { ReplicaId } from "../../domain/names.ts";
import { compareGenerations } from "../../domain/snapshot.ts";
import type { Slot } from "./memory.ts";
import type { FleetWorld } from "./world.ts";

/** What a world says of each replica, by its id: decisions look up each of what may be thousands. */
const byReplica = oncePer((world: FleetWorld) => ({
  hosted: new Map(world.hosted.map((hosted) => [hosted.id, hosted])),
  reports: new Map(world.reports.map((report) => [report.id, report])),
  open: new Set(world.snapshot?.open ?? []),
  routers: world.routers.map(({ generation, rows }) => ({
    generation,
    rows: new Map(rows.map((row) => [row.id, row])),
  })),
}));

/** Requests in flight on a replica: what the routers count or what its keeper sees, whichever is more. */
export function workOf(world: FleetWorld, id: ReplicaId): number {
  const { reports, routers } = byReplica(world);
  const counted = routers.reduce((sum, { rows }) => sum + (rows.get(id)?.inFlight ?? 0), 0);
  return Math.max(reports.get(id)?.inFlight ?? 0, counted);
}

/** Whether a replica's keeper says that it is ready. */
export function isReady(world: FleetWorld, id: ReplicaId): boolean {
  return byReplica(world).reports.get(id)?.phase === "ready";
}

/** Notes the first snapshot in which a draining replica is closed to new requests. */
export function markShown(world: FleetWorld, slot: Slot): Slot {
  if (slot.drain === null || slot.drain.shownIn !== null || world.snapshot === null) return slot;
  if (byReplica(world).open.has(slot.id)) return slot;
  return { ...slot, drain: { ...slot.drain, shownIn: world.snapshot.generation } };
}

/**
 * Whether a draining replica may end. By proof: nothing runs, or it never was ready, or its keeper sees no work and
 * every live router has reported, under a snapshot that closed it, that it has none there. Without proof: when its grace is over.
 * With no live router there is no proof: routers serve on without the controller.
 */
export function isIdle(world: FleetWorld, slot: Slot, drainingForMs: number, graceMs: number): boolean {
  if (drainingForMs >= graceMs) return true;
  const { hosted: allHosted, reports, routers } = byReplica(world);
  const hosted = allHosted.get(slot.id);
  const report = reports.get(slot.id);
  if (hosted === undefined && report === undefined) return true;
  if (hosted?.state === "crash-loop" || !slot.everReady) return true;
  const shownIn = slot.drain?.shownIn ?? null;
  if (shownIn === null || routers.length === 0 || (report?.inFlight ?? 0) > 0) return false;
  return routers.every(({ generation, rows }) => {
    if (generation === null || compareGenerations(generation, shownIn) < 0) return false;
    const row = rows.get(slot.id);
    return row === undefined || (row.draining && row.inFlight === 0);
  });
}
