import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../adapters/clock.ts";
import { createLog } from "../../adapters/log.ts";
import { decodeLogLine } from "../../contract/wire/log-file.ts";
import { ProcessLog } from "./process-log.ts";
import { identifyProcess } from "./process-table.ts";
import { RunFile } from "./run-file.ts";
import type { RestartPolicy } from "./supervise.ts";
import { Supervised } from "./supervised.ts";

const POLICY: RestartPolicy = {
  firstDelayMs: 1,
  maxDelayMs: 10,
  healthyAfterMs: 60_000,
  giveUpAfter: 3,
  graceMs: 60_000,
};

const log = createLog({ level: "error", human: false });
let folder: string;
const cleanups: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-supervised-"));
});
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
  rmSync(folder, { recursive: true, force: true });
});

interface Watched {
  readonly process: Supervised;
  readonly lines: string[];
  /** Resolves once the condition holds, looked at on each change, line and end. */
  until(condition: () => boolean): Promise<void>;
  forgotten: boolean;
}

/** Supervises a shell script. */
function supervise(script: string, policy: Partial<RestartPolicy> = {}): Watched {
  const waiting: { condition: () => boolean; resolve: () => void }[] = [];
  const look = (): void => {
    for (const wait of [...waiting]) {
      if (!wait.condition()) continue;
      waiting.splice(waiting.indexOf(wait), 1);
      wait.resolve();
    }
  };
  const lines: string[] = [];
  const watched = { lines, forgotten: false } as unknown as Watched & { process: Supervised };
  watched.until = (condition) =>
    new Promise((resolve) => {
      waiting.push({ condition, resolve });
      look();
    });
  Object.assign(watched, {
    process: new Supervised({
      id: "probe",
      command: (epoch) => ({
        program: "/bin/sh",
        args: ["-c", script],
        env: { PATH: process.env.PATH, EPOCH: String(epoch) },
      }),
      policy: { ...POLICY, ...policy },
      output: new ProcessLog(join(folder, "probe.log")),
      runFile: new RunFile(folder, log),
      clock: systemClock,
      log,
      onChange: () => setImmediate(look),
      onLines: (more) => {
        lines.push(...more);
        look();
      },
      onForgotten: () => {
        watched.forgotten = true;
        setImmediate(look);
      },
    }),
  });
  cleanups.push(() => {
    watched.process.want(false, 0);
    watched.process.kill();
  });
  return watched;
}

test("a process that is killed starts again under a larger epoch", async () => {
  const watched = supervise("echo epoch $EPOCH; echo ready >&3; exec sleep 1000");
  await watched.until(() => watched.process.view.state === "running");
  const first = watched.process.view;
  process.kill(first.pid ?? 0, "SIGKILL");
  await watched.until(() => watched.process.view.epoch > first.epoch && watched.process.view.state === "running");
  expect(watched.process.view.lastExit).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(watched.lines).toEqual(["epoch 1", "epoch 2"]);
});

test("three starts that end before ready are a crash loop, shown with the last lines it wrote", async () => {
  const watched = supervise('echo "start $EPOCH"; echo "no such model" >&2; exit 3');
  await watched.until(() => watched.process.view.state === "crash-loop");
  const { failedStarts, lastExit, lastLog } = watched.process.view;
  expect({ failedStarts, code: lastExit?.code }).toEqual({ failedStarts: 3, code: 3 });
  // stdout and stderr are two pipes: the order between them is not known.
  expect([...lastLog].sort()).toEqual([...Array(3).fill("no such model"), "start 1", "start 2", "start 3"]);
  const kept = readFileSync(join(folder, "probe.log"), "utf8").trim().split("\n").map(decodeLogLine);
  expect(kept.map(({ line }) => line).sort()).toEqual([...lastLog].sort());
  watched.process.retryNow();
  await watched.until(() => watched.lines.includes("start 4"));
});

test("one that said alive and falls silent for 15 ticks is killed and started again", async () => {
  const watched = supervise("echo alive >&3; echo up; exec sleep 1000");
  await watched.until(() => watched.lines.length === 1);
  // The beat may come after the line; ticks before it do not count, so the first process that hangs is found in the end.
  const { epoch } = watched.process.view;
  while (watched.process.view.epoch === epoch) {
    watched.process.tick();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(watched.process.view.lastExit).toMatchObject({ signal: "SIGKILL" });
});

describe("one that is not wanted any more", () => {
  test("is asked to end, and may finish what it does", async () => {
    const watched = supervise('trap "echo drained; exit 0" TERM; echo up; while :; do sleep 0.01; done');
    await watched.until(() => watched.lines.includes("up"));
    watched.process.want(false);
    expect(watched.process.view.state).toBe("stopping");
    await watched.until(() => watched.forgotten);
    expect(watched.lines).toEqual(["up", "drained"]);
    expect(watched.process.view.lastExit).toMatchObject({ code: 0, signal: null });
  });
  test("is killed with its children when its grace is over", async () => {
    const watched = supervise('trap "" TERM; sleep 1000 & echo $!; wait; wait');
    await watched.until(() => watched.lines.length === 1);
    watched.process.want(false, 1);
    await watched.until(() => watched.forgotten);
    expect(watched.process.view.lastExit).toMatchObject({ signal: "SIGKILL" });
    await gone(Number(watched.lines[0]));
  });
});

test("what a process leaves of its group when it ends is killed", async () => {
  const watched = supervise("sleep 1000 & echo $!; exit 0", { giveUpAfter: 1 });
  await watched.until(() => watched.process.view.state === "crash-loop");
  await gone(Number(watched.lines[0]));
});

test("a program that does not exist is a failed start with its reason", async () => {
  const missing = supervise("exec /nonexistent/program", { giveUpAfter: 1 });
  await missing.until(() => missing.process.view.state === "crash-loop");
  expect(missing.process.view.lastLog.join()).toContain("/nonexistent/program");
});

/** Resolves when there is no such process (a killed one stays for a moment until it is reaped). */
async function gone(pid: number): Promise<void> {
  expect(pid).toBeGreaterThan(1);
  while (identifyProcess(pid) !== null && !isZombie(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

function isZombie(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z") ?? false;
  } catch {
    return true;
  }
}
