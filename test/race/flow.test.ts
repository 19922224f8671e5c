import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { snapshot, version } from "../../runtime/dataplane/flow/fixture.ts";
import { readLoad, retireThread } from "../../runtime/dataplane/flow/load.ts";
import { createFlowMemory, type FlowMemory } from "../../runtime/dataplane/flow/memory.ts";
import { type SlotPlan, SlotPlanner } from "../../runtime/dataplane/flow/slots.ts";
import type { RaceOrder, RaceReport } from "./flow-worker.ts";

const THREADS = 4;

interface Track {
  readonly memory: FlowMemory;
  readonly plan: SlotPlan;
  readonly atReplica: SharedArrayBuffer;
  start(thread: number, requests: number, open: number): Worker;
}

function track(hardCap: number, replicas: readonly string[]): Track {
  const memory = createFlowMemory({ threads: THREADS, replicaSlots: 16, versionSlots: 4 });
  const plan = new SlotPlanner(memory).plan(snapshot([version("v1", hardCap, replicas)]));
  const atReplica = new SharedArrayBuffer(4 * memory.replicaSlots);
  const start = (thread: number, requests: number, open: number) => {
    const order: RaceOrder = { buffer: memory.buffer, plan, thread, requests, open, atReplica };
    return new Worker(new URL("./flow-worker.ts", import.meta.url), { workerData: order });
  };
  return { memory, plan, atReplica, start };
}

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

async function reportOf(worker: Worker): Promise<RaceReport> {
  const [report] = (await once(worker, "message")) as [RaceReport];
  return report;
}

test.each([
  { cap: 1, replicas: ["r0"], requests: 1_000, why: "one place for four threads: every handover rings a doorbell" },
  { cap: 3, replicas: ["r0", "r1"], requests: 5_000, why: "more requests open than places" },
  { cap: 100, replicas: ["r0", "r1", "r2"], requests: 10_000, why: "room for all" },
])("four threads never exceed a cap of $cap and leave every total at 0 ($why)", async ({ cap, replicas, requests }) => {
  const { memory, plan, start } = track(cap, replicas);
  const workers = Array.from({ length: THREADS }, (_, thread) => start(thread, requests, 8));
  const reports = await Promise.all(workers.map(reportOf));
  for (const report of reports) {
    expect(report.completed).toBe(requests);
    expect(report.mostAtReplica).toBeLessThanOrEqual(cap);
  }
  const load = readLoad(memory, plan, nowMs());
  const total = THREADS * requests;
  expect(load.versions[0]).toMatchObject({ arrivals: total, completed: total, inFlight: 0, queued: 0 });
  expect(load.versions[0]!.serviceMsBuckets.reduce((sum, count) => sum + count, 0)).toBe(total);
  const gauges = [memory.total, memory.waiting, memory.places, memory.kib];
  for (const column of [...gauges, ...memory.charged]) expect(column.every((cell) => cell === 0)).toBe(true);
});

test("counters read while threads race never go back, and stand at most one change a thread apart from each other", async () => {
  const { memory, plan, start } = track(5, ["r0", "r1"]);
  const workers = Array.from({ length: THREADS }, (_, thread) => start(thread, 8_000, 8));
  const racing = Promise.all(workers.map(reportOf)).then(() => null);
  let last = readLoad(memory, plan, nowMs()).versions[0]!;
  while ((await Promise.race([racing, new Promise((resolve) => setImmediate(resolve, "racing"))])) !== null) {
    const next = readLoad(memory, plan, nowMs()).versions[0]!;
    for (const name of ["arrivals", "completed", "serviceMsTotal"] as const) {
      expect(next[name]).toBeGreaterThanOrEqual(last[name]);
    }
    // A reader that waited long enough for a thread without a core takes its row in the middle of one change.
    const timed = next.serviceMsBuckets.reduce((sum, count) => sum + count, 0);
    expect(Math.abs(timed - next.completed)).toBeLessThanOrEqual(THREADS);
    const open = next.inFlight + next.queued;
    expect(Math.abs(next.arrivals - next.completed - open)).toBeLessThanOrEqual(THREADS);
    last = next;
  }
  // No request was sent twice, so each was in flight for as long as it was served.
  const end = readLoad(memory, plan, nowMs()).versions[0]!;
  expect(end.inFlightMsTotal / end.serviceMsTotal).toBeCloseTo(1, 6);
});

test("threads that are ended at any moment leave nothing behind: what remains is what the living hold, at the end 0", async () => {
  const { memory, plan, atReplica, start } = track(2, ["r0", "r1"]);
  const steady = start(0, 15_000, 8);
  const done = reportOf(steady).then(() => "done");
  let ended = 0;
  for (let round = 0; ended < 30; round++) {
    const thread = 1 + (round % (THREADS - 1));
    const before = readLoad(memory, plan, nowMs()).versions[0]!.completed;
    const doomed = start(thread, Number.MAX_SAFE_INTEGER, 8);
    await once(doomed, "online");
    // Ended in the middle of its work, which has begun once more is completed than before.
    while (readLoad(memory, plan, nowMs()).versions[0]!.completed < before + 50) await new Promise(setImmediate);
    await doomed.terminate();
    retireThread(memory, thread, nowMs());
    ended++;
    if ((await Promise.race([done, Promise.resolve("racing")])) === "done") break;
  }
  // Places that the dead held at the replicas themselves are not the tables' to give back.
  new Int32Array(atReplica).fill(0);
  await done;
  expect(ended).toBeGreaterThan(0);
  const row = readLoad(memory, plan, nowMs()).versions[0]!;
  expect(row).toMatchObject({ inFlight: 0, queued: 0 });
  expect(row.arrivals).toBe(row.completed + row.failed);
  const gauges = [memory.total, memory.waiting, memory.places, memory.kib];
  for (const column of [...gauges, ...memory.charged]) expect(column.every((cell) => cell === 0)).toBe(true);
});
