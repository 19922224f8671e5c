import { systemClock } from "../../runtime/adapters/clock.ts";
import { createLog } from "../../runtime/adapters/log.ts";
import { systemRandom } from "../../runtime/adapters/random.ts";
import { startRouter } from "../../runtime/dataplane/wire/router.ts";
import { keyHashOf } from "../../runtime/domain/names.ts";

// A router process of the bench: the real one, told its snapshot by itself. argv: threads, replica ports..., each a
// replica of the endpoint `bench`. Prints its port once it serves.
const [threads = "1", ...ports] = process.argv.slice(2);
const router = await startRouter({
  launch: {
    name: "bench",
    epoch: 1,
    host: "127.0.0.1",
    port: 0,
    threads: Number(threads),
    controllerSocket: "",
    apiSocket: "/nonexistent.sock",
    snapshotFile: process.env.BENCH_SNAPSHOT ?? "/dev/null",
  },
  clock: systemClock,
  random: systemRandom,
  log: createLog({ level: "warn", human: false }),
  tap: null,
  dial: (handlers) => {
    setImmediate(() =>
      handlers.onMessage({
        kind: "snapshot",
        snapshot: {
          generation: { incarnation: 1, number: 1 },
          keysRequired: true,
          keys: [{ hash: keyHashOf("bench-key"), name: "bench", endpoints: ["bench"], admin: false }],
          endpoints: [
            {
              name: "bench",
              split: [{ version: "bench-1", weight: 100 }],
              doors: ["mlflow", "kserve"],
              idempotent: true,
              timeouts: { connectMs: 1_000, firstByteMs: 60_000, stallMs: 15_000, requestMs: 600_000 },
              queue: { maxRequests: 2_000, maxBytes: 1e8, maxWaitMs: 60_000 },
              maxBodyBytes: 1e8,
              traceSampleRatio: 0.01,
              problem: null,
            },
          ],
          versions: [
            {
              id: "bench-1",
              endpoint: "bench",
              targetConcurrency: 32,
              hardCap: 256,
              replicas: ports.map((port, index) => ({
                id: `bench-1-${index}`,
                epoch: 1,
                address: { host: "127.0.0.1", port: Number(port) },
                basePath: "",
                draining: false,
              })),
            },
          ],
        },
      }),
    );
    return { send: () => true, close: () => {} };
  },
});
process.stdout.write(`${router.port}\n`);
