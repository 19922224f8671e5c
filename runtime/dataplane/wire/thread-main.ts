import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../../core/assert.ts";
import { RouterThread } from "./router-thread.ts";
import type { FromThread, ThreadStart, ToThread } from "./thread-messages.ts";

// Entry of a router's worker thread: joins a RouterThread to the main thread's port. What throws here ends the thread,
// which main replaces.
const port = parentPort;
assert(port !== null, "thread-main.ts runs as a worker thread");
const post = (message: FromThread): void => port.postMessage(message);
const thread = new RouterThread(workerData as ThreadStart, post);
port.on("message", (message: ToThread) => {
  if (message.kind === "plan") thread.applyPlan(message.plan);
  else thread.stop();
});
await thread.listen();
post({ kind: "listening" });
