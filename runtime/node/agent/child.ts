import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { LineSplitter } from "./line-splitter.ts";
import { signalGroup } from "./process-table.ts";

/** A program with its arguments and its whole environment. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How a process ended; `code` 127 with no signal also stands for a program that could not be started. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Receives what a child says and how it ends; `ended` comes last and once. */
export interface ChildObserver {
  /** Lines of stdout and stderr. */
  lines(lines: readonly string[]): void;
  /** A line on fd 3: `alive` or `ready`. */
  sign(line: string): void;
  ended(exit: Exit): void;
}

/** A running child. */
export interface Child {
  /** Null when the program could not be started. */
  readonly pid: number | null;
  /** Asks the child alone to end; it ends its own children. */
  terminate(): void;
  /** Kills the child and all of its process group. */
  kill(): void;
}

/** Longest wait, once the process has ended, for what it wrote last: a grandchild outside the group may hold the pipe. */
const LAST_WORDS_MS = 100;

/**
 * Starts a program in a process group of its own that does not outlive this process: the kernel kills it when this one
 * ends for whatever cause (setpriv --pdeathsig, of util-linux), and its stdin ends too, for systems without setpriv.
 * What is left of the group when the program ends is killed.
 */
export function startChild(command: Command, observer: ChildObserver): Child {
  const [program, ...args] = [...tiedToParent(command.env.PATH ?? ""), command.program, ...command.args];
  const child = spawn(program ?? "", args, {
    env: { ...command.env },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    detached: true,
  });
  let ended = false;
  const end = (exit: Exit): void => {
    if (ended) return;
    ended = true;
    observer.ended(exit);
  };
  readLines(child.stdout, (lines) => observer.lines(lines));
  readLines(child.stderr, (lines) => observer.lines(lines));
  readLines(child.stdio[3] as Readable, (lines) => {
    for (const line of lines) observer.sign(line);
  });
  child.stdin.on("error", () => {});
  child.on("error", (error) => {
    observer.lines([`penstock: ${command.program} could not be started: ${error.message}`]);
    end({ code: 127, signal: null });
  });
  child.on("exit", (code, signal) => {
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    setTimeout(() => end({ code, signal }), LAST_WORDS_MS).unref();
  });
  child.on("close", (code, signal) => end({ code, signal }));
  return {
    pid: child.pid ?? null,
    terminate: () => void child.kill("SIGTERM"),
    kill: () => {
      if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    },
  };
}

function readLines(stream: Readable, take: (lines: readonly string[]) => void): void {
  const splitter = new LineSplitter();
  stream.on("data", (chunk: Buffer) => take(splitter.push(chunk)));
  stream.on("end", () => take(splitter.end()));
  stream.on("error", () => {});
}

/** A parent that died before the child was tied to it sends no signal any more: such a child has another parent by then, and ends. */
const UNLESS_ORPHANED = '[ "$PPID" = "$0" ] && exec "$@"';

/** The words to put before a command so that the kernel kills it with its parent; none where setpriv is absent. */
function tiedToParent(path: string): readonly string[] {
  for (const folder of path.split(delimiter)) {
    const setpriv = join(folder, "setpriv");
    try {
      accessSync(setpriv, constants.X_OK);
      return [setpriv, "--pdeathsig", "KILL", "--", "/bin/sh", "-c", UNLESS_ORPHANED, String(process.pid)];
    } catch {
      // Not in this folder: the next one is tried.
    }
  }
  return [];
}
