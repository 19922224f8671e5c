// bench:start: from `npm start` until both example endpoints answer, with the models in the cache: in a new data folder, and
// again in the same one. CPU until ready by process; then what the idle region costs in CPU over 30 s and in memory.
// Arguments: seconds of idleness.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder } from "../e2e/region.ts";
import { cpuMsOf, proportionalMiBOf, residentMiBOf, treeOf } from "./support/processes.ts";
import { loadText, progress, report, step } from "./support/report.ts";

const ROOT = join(import.meta.dirname, "../..");
const IDLE_SECONDS = Number(process.argv[2] ?? 30);
/** The end of the start (warm-up, compiled code being kept) is over by then. */
const SETTLE_MS = 8_000;

interface Started {
  /** Of npm, whose children are the region. */
  readonly pid: number;
  readonly readySeconds: number;
  /** CPU that its processes had used when it was ready, those left out that had ended. */
  readonly cpuMsUntilReady: ReadonlyMap<number, number>;
  stop(): Promise<void>;
}

/** Runs `npm start` on a data folder of its own; resolves once both examples answer. */
async function start(dataDir: string): Promise<Started> {
  const startedAtMs = performance.now();
  const args = ["start", "--silent", "--", "--port", "0", "--data-dir", dataDir];
  const child = spawn("npm", args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  const told = new Promise<void>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      // One line to copy per endpoint that serves, then this.
      if (output.includes("Ctrl-C ends the region.")) resolve();
    });
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`npm start ended:\n${output}`);
  });
  ended.catch(() => {});
  await Promise.race([told, ended]);
  const readySeconds = (performance.now() - startedAtMs) / 1_000;
  const ready = output.match(/^(iris|smollm2): ready /gm)?.length ?? 0;
  if (ready !== 2) throw new Error(`not both examples are ready:\n${output}`);
  const stop = async (): Promise<void> => {
    // The region itself: whether npm hands a signal on depends on its version and shell.
    const agent = Number(JSON.parse(readFileSync(join(dataDir, "region.lock.json"), "utf8")).pid);
    process.kill(agent, "SIGTERM");
    await once(child, "exit");
  };
  const cpuMsUntilReady = new Map(treeOf(child.pid ?? 0).map((pid) => [pid, cpuMsOf(pid)]));
  return { pid: child.pid ?? 0, readySeconds, cpuMsUntilReady, stop };
}

/** What a process is, from its command line: `npm start`, or the script that it runs. */
function nameOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  const script = words.findLast((word) => word.endsWith(".ts"));
  return (script ?? words[0]?.split(" ")[0] ?? "").split("/").at(-1) ?? "";
}

const sum = (pids: readonly number[], of: (pid: number) => number): number =>
  pids.reduce((total, pid) => total + of(pid), 0);

const folder = scratchFolder();
step(`a first start, which fetches what is not in the cache (${loadText()})`);
const first = await start(join(folder, "first"));
await sleep(SETTLE_MS);
await first.stop();
step(`ready after ${first.readySeconds.toFixed(1)} s; the start that is measured (${loadText()})`);
const region = await start(join(folder, "second"));
step(`ready after ${region.readySeconds.toFixed(1)} s; idle for ${IDLE_SECONDS} s`);
await sleep(SETTLE_MS);
// npm and its shell are no part of the region: they wait for it, each without work.
const pids = treeOf(region.pid);
const beforeMs = sum(pids, cpuMsOf);
for (let second = 1; second <= IDLE_SECONDS; second++) {
  await sleep(1_000);
  progress(`${second} of ${IDLE_SECONDS} s`);
}
const idleMs = sum(pids, cpuMsOf) - beforeMs;
const regionRssMiB = sum(pids, residentMiBOf);
const regionPssMiB = sum(pids, proportionalMiBOf);
const byProcess = pids.map((pid) => {
  const memory = `${residentMiBOf(pid).toFixed(0).padStart(5)} ${proportionalMiBOf(pid).toFixed(0).padStart(5)}`;
  return `${nameOf(pid).padEnd(14)} ${(region.cpuMsUntilReady.get(pid) ?? 0).toFixed(0).padStart(6)} ${memory}`;
});
await region.stop();
step(`the same data folder again (${loadText()})`);
const again = await start(join(folder, "second"));
await again.stop();
const figures = {
  readySeconds: region.readySeconds,
  readyAgainSeconds: again.readySeconds,
  cpuSecondsUntilReady: [...region.cpuMsUntilReady.values()].reduce((total, ms) => total + ms, 0) / 1_000,
  idleCores: idleMs / (IDLE_SECONDS * 1_000),
  regionRssMiB,
  regionPssMiB,
  processes: pids.length,
};
report("start", figures, [
  "process        CPU ms until ready, RSS and PSS in MiB",
  ...byProcess,
  "RSS counts pages that processes share once for each of them, PSS once in all",
]);
