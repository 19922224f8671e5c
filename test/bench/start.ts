// bench:start: from `penstock up` until both example endpoints answer, with the models cached; then what an idle region costs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = join(import.meta.dirname, "..", "..");
const IDLE_MS = 20_000;
/** Linux counts CPU time in 1/100 s for user space. */
const MS_PER_TICK = 10;

/** Starts a region and resolves once all its endpoints are ready. */
async function start(dataDir: string): Promise<{ pid: number; readySeconds: number; stop(): Promise<void> }> {
  const startedAtMs = performance.now();
  const args = [join(ROOT, "bin", "penstock.mjs"), "up", "--port", "0", "--data-dir", dataDir];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ready = new Promise<void>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("Ctrl-C ends the region.")) resolve();
    });
    child.once("exit", () => reject(new Error(`the region ended:\n${text}`)));
  });
  await ready;
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { pid: child.pid ?? 0, readySeconds: (performance.now() - startedAtMs) / 1_000, stop };
}

/** A process and all below it. */
function tree(pid: number): number[] {
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return [pid, ...below.flatMap(tree)];
}

function cpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  }, 0);
}

function residentMiB(pids: readonly number[]): number {
  const PAGES_PER_MIB = 256;
  return pids.reduce(
    (sum, pid) => sum + Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) / PAGES_PER_MIB,
    0,
  );
}

const folder = mkdtempSync(join(tmpdir(), "penstock-bench-start-"));
// The first start fetches the model and fills the caches; the second is the one that is measured.
const first = await start(join(folder, "first"));
await sleep(6_000);
await first.stop();
const region = await start(join(folder, "second"));
await sleep(6_000);
const pids = tree(region.pid);
const beforeMs = cpuMs(pids);
await sleep(IDLE_MS);
const figures = {
  readySeconds: Number(region.readySeconds.toFixed(2)),
  idleCores: Number(((cpuMs(pids) - beforeMs) / IDLE_MS).toFixed(4)),
  regionRssMiB: Math.round(residentMiB(pids)),
};
await region.stop();
rmSync(folder, { recursive: true, force: true });
console.table({ "first start": { readySeconds: first.readySeconds.toFixed(2) }, "second start": figures });
console.log(JSON.stringify({ bench: "start", figures }));
