// A custom engine for the benches: an HTTP server before a modelled accelerator, which works on up to BATCH_ROWS requests at
// a time for BATCH_MS whatever their number, as a GPU does with a small model. It waits on a timer and so leaves the cores
// of the machine to the rest: one such process gives at most BATCH_ROWS / BATCH_MS.
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine, Route } from "../../../runtime/serving/contract.ts";
import { ReplicaCounters } from "../../../runtime/serving/replica-counters.ts";
import { ReplicaServer } from "../../../runtime/serving/replica-server.ts";

const BATCH_ROWS = 8;
const BATCH_MS = 2;

/** The requests that wait for the device. */
const waiting: (() => void)[] = [];
let busy = false;

async function work(): Promise<void> {
  busy = true;
  while (waiting.length > 0) {
    const batch = waiting.splice(0, BATCH_ROWS);
    await sleep(BATCH_MS);
    for (const done of batch) done();
  }
  busy = false;
}

function onDevice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (!busy) void work();
  });
}

const infer: Route = {
  requestClass: "infer",
  handle: async () => {
    await onDevice();
    return { status: 200, headers: { "content-type": "application/json" }, body: '{"predictions":[0]}' };
  },
};
const engine: Engine = {
  probes: { warmUps: [], canaries: [] },
  maxInFlight: null,
  route: (_method, path) => (path === "/invocations" ? infer : null),
  refreshGauges: () => {},
  close: async () => {},
};
const server = new ReplicaServer({
  engine,
  counters: new ReplicaCounters(["infer"], () => performance.now()),
  maxInFlight: null,
  probeSecret: "",
  onFault: (error) => console.error(error),
});
await server.listen(process.env.HOST ?? "127.0.0.1", Number(process.env.PORT));
process.once("SIGTERM", () => void server.drain().then(() => process.exit(0)));
