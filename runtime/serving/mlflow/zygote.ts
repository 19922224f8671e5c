import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { UserError } from "../../core/errors.ts";

/** Which zygote: equal ones are shared by all replicas of a region. */
export interface ZygoteSettings {
  readonly python: string;
  /** The region's folder of sockets, which only its user may enter (ReplicaLaunch.controllerSocket lies in it). */
  readonly socketDir: string;
  /** The agent, whose end ends the zygote. */
  readonly agentPid: number;
  /** Names the environment and everything that is fixed when its libraries are loaded. */
  readonly key: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Modules to import beside MLflow itself. */
  readonly modules: readonly string[];
}

const PROGRAM = join(import.meta.dirname, "zygote.py");
/** A zygote listens before it imports anything, so that this is the time of starting Python on a loaded machine. */
const START_DEADLINE_MS = 30_000;
const LOOK_AGAIN_MS = 25;

/** Connects to the zygote, which is started if there is none. Errors: UserError with the zygote's last lines if it ends. */
export async function connectZygote(settings: ZygoteSettings): Promise<Socket> {
  const path = socketPath(settings.socketDir, settings.key);
  const first = await tryConnect(path);
  if (first !== null) return first;
  const logFile = `${path}.log`;
  const ended = startZygote(settings, path, logFile);
  const deadlineAt = performance.now() + START_DEADLINE_MS;
  for (;;) {
    const socket = await tryConnect(path);
    if (socket !== null) return socket;
    // A zygote that finds another one under the lock ends with 0: that other one will listen in a moment.
    const code = ended();
    if ((code !== null && code !== 0) || performance.now() > deadlineAt) throw await startError(code, logFile);
    await pause(LOOK_AGAIN_MS);
  }
}

/** What a zygote wrote last, for an error. */
export async function zygoteLog(socketDir: string, key: string): Promise<string> {
  return lastLines(`${socketPath(socketDir, key)}.log`);
}

/** Starts it in a session of its own: it outlives this keeper, and no signal to the keeper's group reaches it. */
function startZygote(settings: ZygoteSettings, path: string, logFile: string): () => number | null {
  const log = openSync(logFile, "w");
  const child = spawn(settings.python, [PROGRAM, path, String(settings.agentPid), ...settings.modules], {
    detached: true,
    env: settings.environment,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  child.unref();
  let failed = false;
  child.on("error", () => {
    failed = true;
  });
  return () => (failed ? 127 : child.exitCode === null && child.signalCode !== null ? 1 : child.exitCode);
}

function tryConnect(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(null));
  });
}

/** No longer than that of the controller's socket, which fits into what a unix socket's path may have. */
function socketPath(socketDir: string, key: string): string {
  return join(socketDir, `zygote-${key}`);
}

async function startError(code: number | null, logFile: string): Promise<UserError> {
  return new UserError(
    "PENSTOCK_MLFLOW_START",
    `the model's Python ${code === null ? "does not start" : `ended with ${code}`}: ${await lastLines(logFile)}`,
    "Deploy again to make its environment anew; if that does not help, correct the model's requirements.",
  );
}

async function lastLines(logFile: string): Promise<string> {
  const SHOWN = 5;
  const text = await readFile(logFile, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-SHOWN).join(" | ");
}
