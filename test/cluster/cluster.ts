import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../../runtime/core/errors.ts";
import { identifyProcess, type ProcessIdentity } from "../../runtime/node/agent/process-table.ts";
import { CGROUP, CGROUPS, CLUSTER_DIR, KUBECONFIG, READY_FILE } from "./layout.ts";
import { programPath } from "./programs.ts";

const POLL_MS = 50;
const PROCESS_FILE = join(CLUSTER_DIR, "process.json");
const LOG = join(CLUSTER_DIR, "up.log");

/** A cluster that runs. */
export interface Running {
  /** The process that holds its namespaces: while it lives the cluster does, and with it everything in it ends. */
  readonly pid: number;
  /** How long it took until a pod could be made; null until then. */
  readonly readySeconds: number | null;
}

/** The cluster that runs on this machine, or null. Errors: UserError for anyone but root, who can't see its folder. */
export function findCluster(): Running | null {
  if (process.getuid?.() !== 0) {
    throw new UserError(
      "PENSTOCK_CLUSTER_NEEDS_ROOT",
      "a test cluster makes namespaces and containers, and only root sees it",
      "run it as root",
    );
  }
  if (!existsSync(PROCESS_FILE)) return null;
  const { pid, started } = JSON.parse(readFileSync(PROCESS_FILE, "utf8")) as ProcessIdentity;
  if (identifyProcess(pid)?.started !== started || isZombie(pid)) return null;
  const readySeconds = existsSync(READY_FILE) ? Number(readFileSync(READY_FILE, "utf8")) : null;
  return { pid, readySeconds };
}

/** It has ended; where the machine's first process reaps nothing, as in many containers, its entry stays for ever. */
function isZombie(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.startsWith("Z") ?? false;
  } catch {
    return true;
  }
}

/**
 * Starts a one-node cluster in namespaces of its own, or finds it running. `onProgress` gets a line a step.
 * Errors: UserError where it is not built, needs rights that this user lacks, or a program of it ends.
 */
export async function startCluster(onProgress: (line: string) => void): Promise<Running> {
  if (findCluster() !== null) return untilReady(onProgress);
  programPath("kubelet");
  await stopCluster();
  mkdirSync(CLUSTER_DIR, { recursive: true, mode: 0o700 });
  const log = openSync(LOG, "w");
  const namespaces = ["--net", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child"];
  // The first process of the namespaces has to reap what is left to it: a shell does, Node does not.
  const first = ["sh", "-c", '"$@" & wait $!', "sh", process.execPath, join(import.meta.dirname, "init.ts")];
  const child = spawn("unshare", [...namespaces, "--", ...first], { detached: true, stdio: ["ignore", log, log] });
  if (child.pid === undefined) {
    // The reason comes as an event too, which would end this process if nobody took it.
    child.on("error", () => {});
    throw new UserError(
      "PENSTOCK_CLUSTER_FAILED",
      "unshare, which makes the cluster's namespaces, can't be run",
      "install util-linux and try again",
    );
  }
  writeFileSync(PROCESS_FILE, JSON.stringify(identifyProcess(child.pid)));
  child.unref();
  return untilReady(onProgress);
}

/** Waits for a cluster that starts, whoever started it. Errors: UserError where it ends instead. */
async function untilReady(onProgress: (line: string) => void): Promise<Running> {
  let told = 0;
  while (!existsSync(READY_FILE)) {
    const lines = readFileSync(LOG, "utf8").split("\n");
    for (const line of lines.slice(told, -1)) onProgress(line);
    told = lines.length - 1;
    if (findCluster() === null) {
      throw new UserError(
        "PENSTOCK_CLUSTER_FAILED",
        `the cluster ended while it started:\n${lines.slice(-25).join("\n")}`,
        `see ${LOG} and the logs beside it`,
      );
    }
    await sleep(POLL_MS);
  }
  return findCluster()!;
}

/** Ends the cluster, if one runs, with all its processes, mounts, networks and groups; also what a crash left behind. */
export async function stopCluster(): Promise<void> {
  const running = findCluster();
  if (running !== null) {
    process.kill(running.pid, "SIGKILL");
    while (findCluster() !== null) await sleep(POLL_MS);
  }
  for (const controller of readdirSync(CGROUPS)) await removeGroups(join(CGROUPS, controller, CGROUP));
  rmSync(CLUSTER_DIR, { recursive: true, force: true });
}

/** Runs a command inside the cluster's network, with KUBECONFIG and kubectl at hand; answers its exit status. */
export function enterCluster(command: readonly string[]): number {
  const running = findCluster();
  if (running === null) {
    throw new UserError("PENSTOCK_CLUSTER_DOWN", "no test cluster runs", "start one by `npm run cluster -- up`");
  }
  const env = { ...process.env, KUBECONFIG, PATH: `${join(programPath("kubectl"), "..")}:${process.env.PATH}` };
  const namespace = `--net=/proc/${running.pid}/ns/net`;
  return spawnSync("nsenter", [namespace, "--", ...command], { stdio: "inherit", env }).status ?? 1;
}

/** A group can be removed once its last process is gone, which the kernel brings about soon after the kill. */
async function removeGroups(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeGroups(join(folder, entry.name));
  }
  for (;;) {
    try {
      return rmdirSync(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
      await sleep(POLL_MS);
    }
  }
}
