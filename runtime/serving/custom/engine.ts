import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { UserError } from "../../core/errors.ts";
import type { RunSettings } from "../../domain/version.ts";
import type { ChildContext, EngineExit, RunningEngine } from "../contract.ts";
import { threadEnvironment } from "../thread-settings.ts";

/**
 * Starts a replica of a custom runtime: the user's command, which listens on $PORT, or no process at all where a base
 * URL names a server that runs elsewhere. It counts nothing and has no probes: it is ready when `run.readyPath` answers 2xx;
 * where none is given, when `/` answers at all, and not with a server's error. One that only accepts is not ready.
 */
export async function startCustom(context: ChildContext): Promise<RunningEngine> {
  const { run } = context.launch.version;
  if (run.url !== null) return elsewhere(new URL(run.url), readinessOf(run));
  if (run.command === null) {
    throw new UserError(
      "PENSTOCK_NO_COMMAND",
      `${context.launch.version.id} has neither run.command nor run.url`,
      "Give one of them, then deploy again.",
    );
  }
  return startCommand(context, run.command);
}

function readinessOf({ readyPath }: RunSettings): RunningEngine["readiness"] {
  return readyPath === null ? { path: "/", statusBelow: 500 } : { path: readyPath, statusBelow: 300 };
}

const UNCOUNTED = { classes: [], probes: { warmUps: [], canaries: [] }, countersFiles: [] } as const;

function elsewhere(url: URL, readiness: RunningEngine["readiness"]): RunningEngine {
  const DEFAULT_HTTP_PORT = 80;
  return {
    ...UNCOUNTED,
    readiness,
    address: { host: url.hostname, port: url.port === "" ? DEFAULT_HTTP_PORT : Number(url.port) },
    rootPids: () => [],
    kill: () => {},
    exited: new Promise<EngineExit>(() => {}),
  };
}

async function startCommand(context: ChildContext, command: readonly string[]): Promise<RunningEngine> {
  const { launch, port } = context;
  const { artifact, run } = launch.version;
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd: workingDir(artifact.path, context.scratchDir),
    env: {
      ...context.environment,
      ...threadEnvironment(run.cpuCount),
      ...run.env,
      PORT: String(port),
      HOST: launch.host,
    },
    // A group of its own, so that what the command starts ends with it.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pid = await spawned(child, program);
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", context.log);
  const dismissGuard = guardGroup(pid);
  const state = { running: true };
  const exited = new Promise<EngineExit>((resolve) => {
    child.once("exit", (code, signal) => {
      state.running = false;
      dismissGuard();
      signalGroup(pid, "SIGKILL");
      resolve({ code, signal });
    });
  });
  return {
    ...UNCOUNTED,
    readiness: readinessOf(run),
    address: { host: launch.host, port },
    rootPids: () => (state.running ? [pid] : []),
    kill: (signal) => {
      if (state.running) signalGroup(pid, signal);
    },
    exited,
  };
}

/** The artifact's folder (or the folder of its file); without an artifact the replica's scratch. */
function workingDir(artifactPath: string, scratchDir: string): string {
  if (artifactPath === "") return scratchDir;
  return statSync(artifactPath).isDirectory() ? artifactPath : dirname(artifactPath);
}

function spawned(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve(child.pid!));
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new UserError(
          "PENSTOCK_COMMAND_NOT_STARTED",
          `'${program}' can't be started: ${error.code === "ENOENT" ? "there is no such program" : error.message}`,
          "Correct run.command; a program is looked up on the PATH, or relative to the model's folder when it has a '/'.",
        ),
      ),
    );
  });
}

/**
 * Ties the command's group to this process by a shell that waits for this process's end, however it comes, and then
 * kills the group. A shell that is killed itself has a successor. Returns how to let go of the group.
 */
function guardGroup(group: number): () => void {
  let isNeeded = true;
  let guard = start();
  function start(): ChildProcess {
    const shell = spawn("sh", ["-c", 'read -r _; kill -s KILL -- "-$1"', "sh", String(group)], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    shell.once("exit", () => {
      if (isNeeded) guard = start();
    });
    shell.unref();
    return shell;
  }
  return () => {
    isNeeded = false;
    guard.kill("SIGKILL");
  };
}

function signalGroup(group: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-group, signal);
  } catch {
    // Nothing of the group is left.
  }
}
