import { Heap } from "../../core/heap.ts";
import type { VersionId } from "../../domain/names.ts";

/** One version's claim on a machine: what a replica of it takes, what it must have, what it wants, what it holds, what of it still has to go. */
export interface Claim {
  readonly id: VersionId;
  readonly memoryBytes: number;
  readonly cpuCount: number;
  readonly guaranteed: number;
  readonly wanted: number;
  readonly held: number;
  readonly leaving: number;
}

/** What all replicas together may take; `growthBytes` is memory that is free right now for replicas not yet started. */
export interface Budget {
  readonly memoryBytes: number;
  readonly cpuCount: number;
  readonly growthBytes: number;
}

/**
 * Replicas granted to each version: first every version's guarantee in rounds of one, then the rest by max-min, one
 * replica at a time to whoever has least. The grants fit the budget; what is above a version's present holding must
 * fit beside everything that is still held, so that a raise waits for the drain that makes room for it.
 * Cost: O(granted replicas x log versions).
 */
export function planGrants(claims: readonly Claim[], budget: Budget): ReadonlyMap<VersionId, number> {
  const ideal = fill(claims, { memoryBytes: budget.memoryBytes, cpuCount: budget.cpuCount }, () => 0);
  const kept = new Map(claims.map((claim) => [claim.id, Math.min(claim.held, ideal.get(claim.id) ?? 0)]));
  const heldBytes = claims.reduce((sum, claim) => sum + (claim.held + claim.leaving) * claim.memoryBytes, 0);
  const heldCpus = claims.reduce((sum, claim) => sum + (claim.held + claim.leaving) * claim.cpuCount, 0);
  const free = {
    memoryBytes: Math.min(budget.memoryBytes - heldBytes, budget.growthBytes),
    cpuCount: budget.cpuCount - heldCpus,
  };
  const bounded = claims.map((claim) => {
    const wanted = ideal.get(claim.id) ?? 0;
    return { ...claim, wanted, guaranteed: Math.min(claim.guaranteed, wanted) };
  });
  const raised = fill(
    bounded.filter((claim) => claim.wanted > claim.held),
    free,
    (claim) => claim.held,
  );
  return new Map(claims.map((claim) => [claim.id, raised.get(claim.id) ?? kept.get(claim.id) ?? 0]));
}

/** Hands out one replica at a time, guarantees before the rest, to the claim that has least; ties go by id. */
function fill(
  claims: readonly Claim[],
  room: { readonly memoryBytes: number; readonly cpuCount: number },
  startOf: (claim: Claim) => number,
): ReadonlyMap<VersionId, number> {
  const granted = new Map(claims.map((claim) => [claim.id, startOf(claim)]));
  const grantedOf = (claim: Claim) => granted.get(claim.id) ?? 0;
  const left = { ...room };
  for (const limitOf of [(claim: Claim) => claim.guaranteed, (claim: Claim) => claim.wanted]) {
    const open = new Heap<Claim>(
      (a, b) => grantedOf(a) < grantedOf(b) || (grantedOf(a) === grantedOf(b) && a.id < b.id),
    );
    for (const claim of claims) if (grantedOf(claim) < limitOf(claim)) open.push(claim);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      // What does not fit now never will: the room only shrinks.
      if (next.memoryBytes > left.memoryBytes || next.cpuCount > left.cpuCount) continue;
      granted.set(next.id, grantedOf(next) + 1);
      left.memoryBytes -= next.memoryBytes;
      left.cpuCount -= next.cpuCount;
      if (grantedOf(next) < limitOf(next)) open.push(next);
    }
  }
  return granted;
}
