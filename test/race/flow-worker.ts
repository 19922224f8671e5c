import { parentPort, workerData } from "node:worker_threads";
import { seededUniform } from "../../runtime/core/prng.ts";
import { ask } from "../../runtime/dataplane/flow/fixture.ts";
import { FlowThread } from "../../runtime/dataplane/flow/flow-thread.ts";
import type { Asked, Lease } from "../../runtime/dataplane/flow/lease.ts";
import { openFlowMemory } from "../../runtime/dataplane/flow/memory.ts";
import type { SlotPlan } from "../../runtime/dataplane/flow/slots.ts";

/** For tests: what one racing thread is to do. */
export interface RaceOrder {
  readonly buffer: SharedArrayBuffer;
  readonly plan: SlotPlan;
  readonly thread: number;
  readonly requests: number;
  /** Requests it keeps open at once. */
  readonly open: number;
  /** One cell per replica slot: requests that are at the replica, counted there and not by the tables. */
  readonly atReplica: SharedArrayBuffer;
}

/** For tests: what one racing thread saw. */
export interface RaceReport {
  readonly completed: number;
  /** Most requests it saw at one replica. */
  readonly mostAtReplica: number;
}

/** Sends requests as fast as they get seats, each held for a few turns of the event loop, and waits on the doorbell like a router. */
async function race(order: RaceOrder): Promise<RaceReport> {
  const memory = openFlowMemory(order.buffer);
  const uniform = seededUniform(order.thread + 1);
  const flow = new FlowThread<Asked>(memory, order.thread, uniform);
  const atReplica = new Int32Array(order.atReplica);
  const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
  const held: Lease<Asked>[] = [];
  let started = 0;
  let completed = 0;
  let mostAtReplica = 0;
  flow.applyPlan(order.plan, nowMs());
  const send = (lease: Lease<Asked>) => {
    mostAtReplica = Math.max(mostAtReplica, Atomics.add(atReplica, lease.seat!.slot, 1) + 1);
    held.push(lease);
  };
  const pump = () => {
    for (let next = flow.takeReady(nowMs()); next !== null; next = flow.takeReady(nowMs())) send(next);
  };
  while (completed < order.requests) {
    while (started < order.requests && started - completed < order.open) {
      const lease = flow.admit("e", ask(), nowMs());
      if (typeof lease === "string") throw new Error(lease);
      started++;
      if (lease.seat !== null) send(lease);
    }
    pump();
    const ending = held.splice(0, Math.ceil(uniform() * held.length));
    for (const lease of ending) {
      // The replica is done before the tables hear of it: the other order would count a place twice.
      Atomics.sub(atReplica, lease.seat!.slot, 1);
      flow.settle(lease, "completed", nowMs());
      completed++;
      pump();
    }
    const bell = Atomics.load(memory.doorbell, order.thread);
    pump();
    if (held.length > 0 || !flow.anyWaiting) await new Promise(setImmediate);
    else await Atomics.waitAsync(memory.doorbell, order.thread, bell, 20).value;
  }
  return { completed, mostAtReplica };
}

// Atomics.waitAsync alone does not keep an event loop alive; a router's sockets do.
const keepAlive = setInterval(() => {}, 1_000);
parentPort?.postMessage(await race(workerData as RaceOrder));
clearInterval(keepAlive);
