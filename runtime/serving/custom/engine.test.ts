import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RunSettings } from "../../domain/version.ts";
import { descendantsOf } from "../../node/keeper/process-tree.ts";
import type { ChildContext, RunningEngine } from "../contract.ts";
import { startCustom } from "./engine.ts";
import { freePort, isAlive, launchOf, PLAIN_RUN } from "./fixtures.ts";

const AGENT = join(import.meta.dirname, "../../../examples/agent");
/** Bounds a wait for something that will come; how long it takes decides nothing. */
const SOON = { timeout: 20_000, interval: 20 };

let folder: string;
let engine: RunningEngine | null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-custom-"));
  engine = null;
});

afterEach(async () => {
  engine?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function contextOf(run: Partial<RunSettings>, artifactPath: string): Promise<ChildContext> {
  return {
    launch: launchOf("custom", { run: { ...PLAIN_RUN, ...run }, artifactPath, environmentHash: null, dataDir: folder }),
    environment: process.env,
    scratchDir: folder,
    probeSecret: "secret",
    port: await freePort(),
    log: () => {},
  };
}

async function answerOf(running: RunningEngine, question: string): Promise<unknown> {
  const { host, port } = running.address;
  const answer = await fetch(`http://${host}:${port}/ask`, { method: "POST", body: JSON.stringify({ question }) });
  return answer.json();
}

test("a command in the artifact's folder listens on $PORT and answers; SIGTERM ends it with 0 after its requests", async () => {
  engine = await startCustom(await contextOf({ command: [process.execPath, "agent.mjs"] }, AGENT));
  const { host, port } = engine.address;
  await vi.waitFor(() => fetch(`http://${host}:${port}/`), SOON);
  const answer = answerOf(engine, "is it up");
  // The request is with the server once a second one, sent after it, has been answered.
  await fetch(`http://${host}:${port}/`);
  engine.kill("SIGTERM");
  expect(await answer).toEqual({ answer: "IS IT UP", steps: 3 });
  expect(await engine.exited).toEqual({ code: 0, signal: null });
  expect(engine.rootPids()).toEqual([]);
});

test("threads and the user's own variables reach the command", async () => {
  const script = join(folder, "env.mjs");
  writeFileSync(
    script,
    [
      'import { createServer } from "node:http";',
      "const { OMP_NUM_THREADS, MINE, PORT, HOST } = process.env;",
      'createServer((_, answer) => answer.end([OMP_NUM_THREADS, MINE].join(" "))).listen(PORT, HOST);',
    ].join("\n"),
  );
  engine = await startCustom(
    await contextOf({ command: [process.execPath, "env.mjs"], cpuCount: 2.5, env: { MINE: "yes" } }, script),
  );
  const { host, port } = engine.address;
  const answer = await vi.waitFor(() => fetch(`http://${host}:${port}/`), SOON);
  // 2.5 cores round up to 3 threads.
  expect(await answer.text()).toBe("3 yes");
});

test("what the command started ends with it", async () => {
  const lines: string[] = [];
  const context = await contextOf({ command: ["sh", "-c", "sleep 300 & echo $!; exec sleep 300"] }, "");
  engine = await startCustom({ ...context, log: (line) => lines.push(line) });
  await vi.waitFor(() => expect(lines).toHaveLength(1), SOON);
  const grandchild = Number(lines[0]);
  expect(isAlive(grandchild)).toBe(true);
  process.kill(engine.rootPids()[0]!, "SIGKILL");
  expect(await engine.exited).toEqual({ code: null, signal: "SIGKILL" });
  await vi.waitFor(() => expect(isAlive(grandchild)).toBe(false), SOON);
});

test.each([
  ["the keeper", false],
  ["the shell that guards it and then the keeper", true],
])("the command and what it started end when %s is killed", async (_, guardFirst) => {
  const keeper = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { startCustom } from ${JSON.stringify(join(import.meta.dirname, "engine.ts"))};
       const context = JSON.parse(process.argv[1]);
       await startCustom({ ...context, environment: process.env, log: (line) => console.log(line) });
       setInterval(() => {}, 1000);`,
      JSON.stringify(await contextOf({ command: ["sh", "-c", "sleep 300 & echo $$ $!; wait"] }, "")),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const pids = await new Promise<number[]>((resolve) => {
    keeper.stdout.once("data", (text: Buffer) => resolve(text.toString().trim().split(" ").map(Number)));
  });
  expect(pids.every(isAlive)).toBe(true);
  if (guardFirst) {
    const [guard] = guardsOf(keeper.pid!);
    process.kill(guard!, "SIGKILL");
    await vi.waitFor(() => expect(guardsOf(keeper.pid!)).not.toContain(guard), SOON);
    await vi.waitFor(() => expect(guardsOf(keeper.pid!)).toHaveLength(1), SOON);
  }
  keeper.kill("SIGKILL");
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), SOON);
});

/** Children of the keeper beside the command, whose shell waits for its own child. */
function guardsOf(keeper: number): readonly number[] {
  return descendantsOf([keeper]).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("read -r _"));
}

test("a program that does not exist is an error that names it", async () => {
  await expect(startCustom(await contextOf({ command: ["no-such-program"] }, ""))).rejects.toMatchObject({
    code: "PENSTOCK_COMMAND_NOT_STARTED",
    message: "'no-such-program' can't be started: there is no such program",
  });
});

test("a base URL starts no process and is served at its address", async () => {
  engine = await startCustom(await contextOf({ url: "http://127.0.0.1:9999/base" }, ""));
  expect(engine.address).toEqual({ host: "127.0.0.1", port: 9999 });
  expect(engine.rootPids()).toEqual([]);
});
