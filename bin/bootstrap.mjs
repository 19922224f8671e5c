// Starts Penstock's commands from a fresh clone: plain JavaScript, since the Node that npm runs may be too old for the rest.
// Installs the locked dependencies when they are absent or differ from the lockfile, then hands over to the Node among them.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** From util-linux: runs a program with a signal to be sent to it when its parent dies. */
const SETPRIV = "/usr/bin/setpriv";
/** A launcher that died before the program was tied to it sends no signal any more: the program has another parent by then. */
const UNLESS_ORPHANED = '[ "$PPID" = "$0" ] && exec "$@"';
const stampFile = join(root, "node_modules", ".penstock-lock");

/** Runs `npm ci` unless node_modules was made from this very lockfile. */
export function ensureDependencies() {
  const lockHash = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === lockHash) return;
  console.error("penstock: installing dependencies (npm ci, about a minute the first time)");
  const install = spawnSync("npm", ["ci", "--loglevel=error"], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (install.status !== 0) {
    console.error(
      `error: npm ci failed (exit ${install.status ?? install.signal})\n  Look at its output above; the command can be repeated.`,
    );
    process.exit(1);
  }
  writeFileSync(stampFile, lockHash);
}

/** The Node that runs Penstock: the pinned one where the platform has it, else this one if it is new enough. */
export function nodeBinary() {
  const pinned = join(root, "node_modules", ".bin", "node");
  if (existsSync(pinned)) return pinned;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  console.error(
    `error: Penstock needs Node 22.19 or newer, this is ${process.versions.node}\n  Install a newer Node and try again.`,
  );
  return process.exit(1);
}

/**
 * Runs a program in the foreground with the pinned tools first on the PATH, and ends as it ends. Where Node can (22.15 and
 * newer, not on Windows) the program takes this process's place: no launcher stays in memory beside it. Else, where the
 * system can (Linux), it is told to end also when this launcher is killed without a word.
 */
export function handOver(program, args) {
  const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "penstock");
  const env = {
    NODE_COMPILE_CACHE: join(cacheDir, "compiled"),
    ...process.env,
    PATH: `${join(root, "node_modules", ".bin")}:${process.env.PATH ?? ""}`,
  };
  if (process.execve !== undefined && process.platform !== "win32") process.execve(program, [program, ...args], env);
  const [first, ...rest] = existsSync(SETPRIV)
    ? [SETPRIV, "--pdeathsig", "TERM", "--", "/bin/sh", "-c", UNLESS_ORPHANED, String(process.pid), program, ...args]
    : [program, ...args];
  const child = spawn(first, rest, { stdio: "inherit", env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
}

const COMMANDS = {
  start: (args) => handOver(nodeBinary(), [join(root, "cli", "penstock.ts"), "up", ...args]),
  test: (args) => {
    process.chdir(root);
    handOver(nodeBinary(), [join(root, "test", "run.ts"), ...args]);
  },
  run: ([script, ...args]) => handOver(nodeBinary(), [join(root, script), ...args]),
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name = "start", ...args] = process.argv.slice(2);
  ensureDependencies();
  COMMANDS[name](args);
}
