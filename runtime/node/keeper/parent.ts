import { fstatSync, writeSync } from "node:fs";
import { Socket } from "node:net";

/** File descriptor of the pipe on which the agent waits for signs of life. */
const ALIVE_FD = 3;
/** The agent counts its own seconds of silence, 15 of them. */
const BEAT_EVERY_MS = 1_000;

/** Says `alive` to the agent, or `ready`, which means both; without the agent's pipe (a test, a cluster) it does nothing. */
export function beat(word: "alive" | "ready"): void {
  try {
    const pipe = fstatSync(ALIVE_FD);
    if (pipe.isFIFO() || pipe.isSocket()) writeSync(ALIVE_FD, `${word}\n`);
  } catch {
    // No such pipe, full, or its reader is gone: standard input tells of the parent's death.
  }
}

/** Says `ready` at once and then each second, as long as this thread turns: the agent ends and replaces a process that falls silent. */
export function keepBeating(): void {
  beat("ready");
  setInterval(() => beat("ready"), BEAT_EVERY_MS).unref();
}

/** Calls back once when the parent has died: standard input has ended. Works from a worker thread too. */
export function watchParent(onGone: () => void): void {
  const input = fstatSync(0);
  if (!input.isFIFO() && !input.isSocket()) return;
  const stdin = new Socket({ fd: 0, readable: true, writable: false });
  stdin.resume();
  stdin.once("close", onGone);
  stdin.on("error", () => stdin.destroy());
}
