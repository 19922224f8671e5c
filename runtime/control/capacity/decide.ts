import type { Verdict } from "../../core/controller.ts";
import type { VersionId } from "../../domain/names.ts";
import type { Granted } from "../../domain/replica.ts";
import { type Claim, planGrants } from "./plan.ts";
import type { CapacityWorld, VersionNeed } from "./world.ts";

/** Share of the machines' memory that replicas may take; the rest is the region's own processes and the system's. */
const MEMORY_SHARE = 0.9;
/** Memory that must stay available when a replica starts. */
const MEMORY_SPARE_SHARE = 0.05;
/**
 * Allotted cores per real core. Allotments set thread counts and are seldom all busy; at four times, a version, its
 * successor in a rollout and a neighbour fit on a machine of two cores. Sold cores need another rule than this.
 */
const CPU_OVERCOMMIT = 4;
/** Before a replica was measured: a Node or Python process with its runtime, and the artifact once in memory. */
const UNMEASURED_BYTES = 256 * 1024 * 1024;

/** Grants by version: the value of capacity's decision. */
export type Grants = Readonly<Record<VersionId, Granted>>;

/** What capacity remembers: the largest memory measured for a replica of each version. */
export interface CapacityMemory {
  readonly measured: Readonly<Record<VersionId, number>>;
}

/** Decides how many replicas each version may have within the machines of the region. */
export function decideCapacity(world: CapacityWorld, before: CapacityMemory): Verdict<CapacityMemory, Grants> {
  const measured = Object.fromEntries(
    world.versions.flatMap(({ id, residentBytes }) => {
      const bytes = Math.max(before.measured[id] ?? 0, residentBytes ?? 0);
      return bytes > 0 ? [[id, bytes]] : [];
    }),
  );
  const memory: CapacityMemory = { measured };
  if (world.machines === null)
    return { memory, output: null, because: { reason: "hold: no machine", inputs: {} }, wakeAtMs: null };
  const claims = world.versions.map((need) => claimOf(need, measured[need.id] ?? null));
  const { cpuCount, memoryBytes, memoryAvailableBytes } = world.machines;
  const granted = planGrants(claims, {
    memoryBytes: memoryBytes * MEMORY_SHARE,
    cpuCount: cpuCount * CPU_OVERCOMMIT,
    growthBytes: memoryAvailableBytes - memoryBytes * MEMORY_SPARE_SHARE,
  });
  const isShort = claims.some((claim) => (granted.get(claim.id) ?? 0) < claim.wanted);
  return {
    memory,
    output: Object.fromEntries([...granted].map(([version, replicas]) => [version, { version, replicas }])),
    because: {
      reason: isShort ? "grant: short of capacity" : "grant: all as wanted",
      inputs: { versions: claims.length, cpuCount, memoryBytes, memoryAvailableBytes },
    },
    wakeAtMs: null,
  };
}

function claimOf(need: VersionNeed, measuredBytes: number | null): Claim {
  const memoryBytes = need.allottedBytes ?? measuredBytes ?? UNMEASURED_BYTES + need.artifactBytes;
  const { id, cpuCount, guaranteed, wanted, held, leaving } = need;
  return { id, memoryBytes, cpuCount, guaranteed, wanted, held, leaving };
}
