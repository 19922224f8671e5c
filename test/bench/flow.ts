/**
 * What the flow tables cost per request. `admit + settle` is the whole of a request's way through them (pick, charge,
 * counters, lease, release); `pick over rows` is the alternative that was not taken: summing a row per thread.
 * The other threads keep the same replicas busy in the rows marked "racing".
 */
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { seededUniform } from "../../runtime/core/prng.ts";
import { FlowThread } from "../../runtime/dataplane/flow/flow-thread.ts";
import type { Asked, Lease } from "../../runtime/dataplane/flow/lease.ts";
import { readLoad } from "../../runtime/dataplane/flow/load.ts";
import { createFlowMemory, type FlowMemory, openFlowMemory } from "../../runtime/dataplane/flow/memory.ts";
import { type SlotPlan, SlotPlanner } from "../../runtime/dataplane/flow/slots.ts";
import type { Snapshot } from "../../runtime/domain/snapshot.ts";

const REQUEST: Asked = { workload: "w", bodyBytes: 1_024, cost: 1, mayRepeat: true };
const ROUNDS = 5;
/** Requests that each thread keeps open, so that loads differ as they do in life. */
const OPEN = 64;

interface Racer {
  readonly buffer: SharedArrayBuffer;
  readonly plan: SlotPlan;
  readonly thread: number;
}

function snapshotOf(replicas: number): Snapshot {
  return {
    generation: { incarnation: 1, number: 1 },
    endpoints: [
      {
        name: "e",
        split: [{ version: "v", weight: 100 }],
        doors: ["mlflow"],
        idempotent: true,
        timeouts: { connectMs: 1, firstByteMs: 1, stallMs: 1, requestMs: 1 },
        queue: { maxRequests: 1_000, maxBytes: 2 ** 30, maxWaitMs: 1_000 },
        maxBodyBytes: 1,
        traceSampleRatio: 0,
        problem: null,
      },
    ],
    versions: [
      {
        id: "v",
        endpoint: "e",
        targetConcurrency: 1_000,
        hardCap: 1_000,
        replicas: Array.from({ length: replicas }, (_, index) => ({
          id: `r${index}`,
          epoch: 1,
          address: { host: "127.0.0.1", port: 1 },
          basePath: "",
          draining: false,
        })),
      },
    ],
    keys: [],
    keysRequired: false,
  };
}

/** One thread's traffic: OPEN requests open, the oldest ended for each new one. */
class Traffic {
  readonly #flow: FlowThread<Asked>;
  readonly #open: Lease<Asked>[] = [];
  #nowMs = 0;
  #oldest = 0;

  constructor(memory: FlowMemory, plan: SlotPlan, thread: number) {
    this.#flow = new FlowThread(memory, thread, seededUniform(thread + 1));
    this.#flow.applyPlan(plan, 0);
    for (let index = 0; index < OPEN; index++) this.#open.push(this.#flow.admit("e", REQUEST, 0) as Lease<Asked>);
  }

  run(requests: number): void {
    for (let count = 0; count < requests; count++) {
      this.#nowMs += 0.01;
      this.#flow.settle(this.#open[this.#oldest]!, "completed", this.#nowMs);
      this.#open[this.#oldest] = this.#flow.admit("e", REQUEST, this.#nowMs) as Lease<Asked>;
      this.#oldest = (this.#oldest + 1) % OPEN;
    }
  }
}

/** Least CPU nanoseconds of this thread per call over the rounds: other programs on the machine hardly show in it. */
function leastNs(calls: number, work: (calls: number) => void): number {
  work(calls);
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.threadCpuUsage();
    work(calls);
    const used = process.threadCpuUsage(start);
    least = Math.min(least, ((used.user + used.system) * 1_000) / calls);
  }
  return least;
}

/** Results go here, so that no measured loop can be left out as useless. */
const sink = new Float64Array(1);

/** Argmin over the column of totals, as Balancer does. */
function pickOverTotals(memory: FlowMemory, slots: Int32Array): (calls: number) => void {
  const { total } = memory;
  return (calls) => {
    for (let call = 0; call < calls; call++) {
      let least = Number.POSITIVE_INFINITY;
      for (let index = 0; index < slots.length; index++) {
        const load = total[slots[index]!]!;
        if (load >= least) continue;
        least = load;
        sink[0] = index;
      }
    }
  };
}

/** Argmin over the sums of a row per thread. */
function pickOverRows(memory: FlowMemory, slots: Int32Array): (calls: number) => void {
  const { charged } = memory;
  return (calls) => {
    for (let call = 0; call < calls; call++) {
      let least = Number.POSITIVE_INFINITY;
      for (let index = 0; index < slots.length; index++) {
        const slot = slots[index]!;
        let load = 0;
        for (let row = 0; row < charged.length; row++) load += charged[row]![slot]!;
        if (load >= least) continue;
        least = load;
        sink[0] = index;
      }
    }
  };
}

async function measure(replicas: number, threads: number): Promise<Record<string, number>> {
  const memory = createFlowMemory({ threads, replicaSlots: 2_048, versionSlots: 8 });
  const plan = new SlotPlanner(memory).plan(snapshotOf(replicas));
  const slots = Int32Array.from(plan.replicaSlots[0]!);
  const traffic = new Traffic(memory, plan, 0);
  const calls = Math.ceil(4_000_000 / (replicas + 20));
  const alone = {
    requestNs: leastNs(calls, (count) => traffic.run(count)),
    totalsNs: leastNs(calls * 10, pickOverTotals(memory, slots)),
    rowsNs: leastNs(calls * 10, pickOverRows(memory, slots)),
  };
  const racers = await Promise.all(
    Array.from({ length: threads - 1 }, (_, index) => startRacer({ buffer: memory.buffer, plan, thread: index + 1 })),
  );
  const racingNs = racers.length === 0 ? alone.requestNs : leastNs(calls, (count) => traffic.run(count));
  const readNs = leastNs(200, (count) => {
    for (let call = 0; call < count; call++) sink[0] = readLoad(memory, plan, 0).replicas.length;
  });
  await Promise.all(racers.map((racer) => racer.terminate()));
  return { ...alone, racingNs, readUs: readNs / 1_000 };
}

async function startRacer(order: Racer): Promise<Worker> {
  const worker = new Worker(new URL(import.meta.url), { workerData: order });
  await new Promise((resolve) => worker.once("message", resolve));
  return worker;
}

async function main(): Promise<void> {
  const figures: Record<string, number> = {};
  const rows: Record<string, string | number>[] = [];
  for (const threads of [1, 4]) {
    for (const replicas of [2, 8, 64, 1_000]) {
      const measured = await measure(replicas, threads);
      const rounded = Object.fromEntries(Object.entries(measured).map(([name, value]) => [name, Math.round(value)]));
      rows.push({
        threads,
        replicas,
        "admit + settle ns": rounded.requestNs!,
        "the same, racing ns": rounded.racingNs!,
        "pick over totals ns": rounded.totalsNs!,
        "pick over rows ns": rounded.rowsNs!,
        "readLoad us": rounded.readUs!,
      });
      for (const [name, value] of Object.entries(rounded)) figures[`${name}_t${threads}_r${replicas}`] = value;
    }
  }
  console.table(rows);
  console.log(JSON.stringify({ bench: "flow", figures }));
}

if (isMainThread) await main();
else {
  const { parentPort } = await import("node:worker_threads");
  const { buffer, plan, thread } = workerData as Racer;
  const traffic = new Traffic(openFlowMemory(buffer), plan, thread);
  parentPort!.postMessage("racing");
  for (;;) traffic.run(10_000);
}
