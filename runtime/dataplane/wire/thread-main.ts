import { parentPort } from "node:worker_threads";
import { assert } from "../../core/assert.ts";
import { RouterThread } from "./router-thread.ts";
import type { FromThread, ThreadStart, ToThread } from "./thread-messages.ts";

// Entry of a router's worker thread: loads the code, and joins a RouterThread to the main thread's port once it is told to
// start. What throws here ends the thread, which main replaces.

/** Main looks each second whether the heart has beaten since. */
const BEAT_MS = 250;

const port = parentPort;
assert(port !== null, "thread-main.ts runs as a worker thread");
const post = (message: FromThread): void => port.postMessage(message);
let thread: RouterThread | null = null;
port.on("message", (message: ToThread) => {
  if (message.kind === "start") void start(message.start, message.beats);
  else if (message.kind === "plan") thread?.applyPlan(message.plan);
  else thread?.stop();
});

async function start(told: ThreadStart, beats: Int32Array): Promise<void> {
  thread = new RouterThread(told, post);
  setInterval(() => Atomics.add(beats, told.thread, 1), BEAT_MS);
  await thread.listen();
  post({ kind: "listening" });
}
