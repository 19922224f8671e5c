import { seededUniform, type Uniform } from "../../core/prng.ts";
import type { Snapshot, SnapshotEndpoint, SnapshotVersion } from "../../domain/snapshot.ts";
import { FlowThread } from "./flow-thread.ts";
import type { Asked, Lease } from "./lease.ts";
import { createFlowMemory, type FlowMemory } from "./memory.ts";
import { type SlotPlan, SlotPlanner } from "./slots.ts";

/** For tests: a request with its defaults. */
export function ask(overrides: Partial<Asked> = {}): Asked {
  return { workload: "w", bodyBytes: 0, cost: 1, mayRepeat: true, ...overrides };
}

/** For tests: a version of endpoint `e`, its replicas given as `id` or `id@epoch`, with a `-` before those that drain. */
export function version(id: string, hardCap: number, replicas: readonly string[]): SnapshotVersion {
  return {
    id,
    endpoint: "e",
    targetConcurrency: hardCap,
    hardCap,
    replicas: replicas.map((text) => {
      const [name = "", epoch = "1"] = text.replace(/^-/, "").split("@");
      return {
        id: name,
        epoch: Number(epoch),
        address: { host: "127.0.0.1", port: 1 },
        basePath: "",
        draining: text.startsWith("-"),
      };
    }),
  };
}

/** For tests: a snapshot of the one endpoint `e`; without `weights`, all traffic goes to the last version. */
export function snapshot(
  versions: readonly SnapshotVersion[],
  weights: readonly number[] = versions.map((_, index) => (index === versions.length - 1 ? 100 : 0)),
  queue: Partial<SnapshotEndpoint["queue"]> = {},
): Snapshot {
  const endpoint: SnapshotEndpoint = {
    name: "e",
    split: versions.map((row, index) => ({ version: row.id, weight: weights[index] ?? 0 })),
    doors: ["mlflow"],
    idempotent: true,
    timeouts: { connectMs: 1_000, firstByteMs: 1_000, stallMs: 1_000, requestMs: 1_000 },
    queue: { maxRequests: 1_000, maxBytes: 2 ** 30, maxWaitMs: 60_000, ...queue },
    maxBodyBytes: 1_000,
    traceSampleRatio: 0,
    problem: null,
  };
  return { generation: { incarnation: 1, number: 1 }, endpoints: [endpoint], versions, keys: [], keysRequired: false };
}

/** For tests: a flow memory with its planner and threads, all in this one real thread and so in an order the test decides. */
export class Stand {
  readonly memory: FlowMemory;
  readonly planner: SlotPlanner;
  readonly threads: FlowThread<Asked>[];
  readonly uniform: Uniform;
  plan: SlotPlan;
  nowMs = 1_000;

  constructor(first: Snapshot, { threads = 1, replicaSlots = 64, versionSlots = 8, seed = 1 } = {}) {
    this.memory = createFlowMemory({ threads, replicaSlots, versionSlots });
    this.planner = new SlotPlanner(this.memory);
    this.uniform = seededUniform(seed);
    this.threads = Array.from({ length: threads }, (_, index) => new FlowThread(this.memory, index, this.uniform));
    this.plan = this.apply(first);
  }

  get flow(): FlowThread<Asked> {
    return this.threads[0]!;
  }

  /** Plans a snapshot and gives it to every thread. */
  apply(next: Snapshot): SlotPlan {
    this.plan = this.planner.plan(next);
    for (const thread of this.threads) thread.applyPlan(this.plan, this.nowMs);
    return this.plan;
  }

  /** Admits on a thread and fails where there is no lease. */
  admit(overrides: Partial<Asked> = {}, thread = 0): Lease<Asked> {
    const lease = this.threads[thread]!.admit("e", ask(overrides), this.nowMs);
    if (typeof lease === "string") throw new Error(`refused: ${lease}`);
    return lease;
  }

  /** All leases of a thread that are ready now. */
  ready(thread = 0): Lease<Asked>[] {
    const leases: Lease<Asked>[] = [];
    for (let lease = this.threads[thread]!.takeReady(this.nowMs); lease !== null; ) {
      leases.push(lease);
      lease = this.threads[thread]!.takeReady(this.nowMs);
    }
    return leases;
  }

  /** In flight over all threads on a replica of the newest plan. */
  inFlightOf(replica: string): number {
    for (const [index, row] of this.plan.snapshot.versions.entries()) {
      const position = row.replicas.findIndex((candidate) => candidate.id === replica);
      if (position >= 0) return this.memory.total[this.plan.replicaSlots[index]![position]!]!;
    }
    throw new Error(`no replica ${replica}`);
  }
}
