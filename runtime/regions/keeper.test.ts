import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControllerServer, listenForPeers } from "../adapters/controller-server.ts";
import { createLog } from "../adapters/log.ts";
import { ENV } from "../contract/names.ts";
import type { Hello } from "../contract/wire/messages.ts";
import type { LogLevel } from "../domain/endpoint.ts";
import type { ReplicaReport } from "../domain/replica.ts";
import type { RunSettings, RuntimeKind } from "../domain/version.ts";
import { PLAIN_RUN } from "../serving/custom/fixtures.ts";
import { writeTinyClassifier } from "../serving/onnx/test-model.ts";

const ENTRY = join(import.meta.dirname, "keeper.ts");
const quiet = createLog({ level: "error", human: true });

let dataDir: string;
let controller: ControllerServer | null = null;
let replica: ChildProcess | null = null;
let hellos: Hello[] = [];
let reports: ReplicaReport[] = [];
let logLevel: LogLevel;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "penstock-keeper-"));
  hellos = [];
  reports = [];
  logLevel = "info";
});

afterEach(async () => {
  if (replica?.exitCode === null) replica.kill("SIGKILL");
  await controller?.close();
  controller = null;
});

async function listen(): Promise<void> {
  controller = await listenForPeers(join(dataDir, "c.sock"), {
    observer: {
      hello: (peer) => {
        hellos.push(peer.hello);
        peer.send({ kind: "logLevel", level: logLevel });
      },
      message: (_peer, message) => {
        if (message.kind === "replica") reports.push(message.report);
      },
      gone: () => {},
    },
    log: quiet,
  });
}

function start(runtime: RuntimeKind, path: string, run: Partial<RunSettings> = {}): ChildProcess {
  const version = {
    id: "tiny-0000000000",
    endpoint: "tiny",
    runtime,
    artifact: { source: path, digest: "0", path, sizeBytes: 1 },
    environmentHash: null,
    run: { ...PLAIN_RUN, ...run },
    createdAtMs: 0,
  };
  const controllerSocket = join(dataDir, "c.sock");
  const launch = { id: "tiny-0000000000-1", epoch: 3, version, controllerSocket, dataDir, host: "127.0.0.1" };
  replica = spawn(process.execPath, [ENTRY], {
    env: { ...process.env, [ENV.replicaLaunch]: JSON.stringify(launch) },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  return replica;
}

/** Resolves with the first `count` lines of a stream that match, once they have been written. */
function linesOf(stream: Readable | null, matches: (line: string) => boolean, count = 1): Promise<string[]> {
  const found: string[] = [];
  return new Promise((resolve) => {
    createInterface({ input: stream! }).on("line", (line) => {
      if (matches(line)) found.push(line);
      if (found.length === count) resolve(found);
    });
  });
}

/** Where the replica's keeper answers over HTTP, as its log tells. */
async function healthOf(child: ChildProcess): Promise<string> {
  const [line = ""] = await linesOf(child.stderr, (one) => one.includes("KEEPER_LISTENING"));
  return `http://127.0.0.1:${JSON.parse(line).port}`;
}

const latest = (): ReplicaReport | undefined => reports.at(-1);
const phases = (): string[] => reports.map((report) => report.phase).filter((phase, at, all) => phase !== all[at - 1]);
const ended = (child: ChildProcess): Promise<number | string | null> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
const becomesReady = () => expect.poll(() => latest()?.phase, { timeout: 30_000 }).toBe("ready");

test("an onnx replica warms up, reports ready with its address, serves, drains on SIGTERM and ends with 0", async () => {
  await listen();
  const child = start("onnx", writeTinyClassifier());
  const health = healthOf(child);
  const firstBeat = new Promise<string>((resolve) => {
    (child.stdio[3] as Readable).once("data", (bytes: Buffer) => resolve(bytes.toString()));
  });
  await becomesReady();
  expect(await firstBeat).toMatch(/^alive\n/);
  expect(hellos[0]).toMatchObject({ role: "keeper", name: "tiny-0000000000-1", epoch: 3 });
  const report = latest()!;
  expect(report).toMatchObject({ epoch: 3, inFlight: 0, progressTotal: 0 });
  expect(report.warmupServiceMs).toBeGreaterThan(0);
  expect(report.startupMs).toBeGreaterThan(0);
  expect(report.resources.residentBytes).toBeGreaterThan(10_000_000);

  const verdict = await fetch(`${await health}/ready`);
  expect([verdict.status, await verdict.text()]).toEqual([200, "ready\n"]);

  const { host, port } = report.address!;
  const answer = await fetch(`http://${host}:${port}/invocations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"inputs": [[1, 2]]}',
  });
  expect(await answer.json()).toEqual({ predictions: [1] });
  // The probe comes after `ready`, and its result with a later report.
  await expect.poll(() => latest()?.probedConcurrency, { timeout: 10_000 }).toBeGreaterThanOrEqual(1);
  expect(latest()?.startupMs).toBe(report.startupMs);
  // The client's request counts; warm-up and probe did not.
  await expect.poll(() => latest()?.progressTotal, { timeout: 5_000 }).toBe(1);

  const end = ended(child);
  child.kill("SIGTERM");
  expect(await end).toBe(0);
  expect(phases().slice(-3)).toEqual(["warming", "ready", "draining"]);
});

test("a controller that comes back hears Hello and the last report again", async () => {
  const child = start("onnx", writeTinyClassifier());
  await listen();
  await becomesReady();
  await controller?.close();
  hellos = [];
  reports = [];
  await listen();
  await expect.poll(() => latest()?.phase, { timeout: 10_000 }).toBe("ready");
  expect(hellos).toHaveLength(1);
  expect(child.exitCode).toBeNull();
});

test("a custom server that accepts connections and answers nothing is alive and not ready", async () => {
  await listen();
  const script = join(dataDir, "mute.mjs");
  writeFileSync(
    script,
    'import { createServer } from "node:net"; createServer(() => console.log("asked")).listen(process.env.PORT, "127.0.0.1");',
  );
  const child = start("custom", dataDir, { command: [process.execPath, script] });
  const health = healthOf(child);
  // It is asked, and asked again once the first question has had its 5 s.
  await linesOf(child.stdout, (line) => line === "asked", 2);
  expect((await fetch(`${await health}/live`)).status).toBe(200);
  expect((await fetch(`${await health}/ready`)).status).toBe(503);
  expect(new Set(phases())).toEqual(new Set(["starting"]));
});

test("a custom server is ready when its own path says so, whatever `/` answers", async () => {
  await listen();
  const script = join(dataDir, "slow.mjs");
  writeFileSync(
    script,
    `import { createServer } from "node:http";
     let asked = 0;
     createServer((request, answer) => {
       asked += request.url === "/healthz" ? 1 : 0;
       answer.writeHead(request.url === "/healthz" && asked < 3 ? 404 : 200).end(String(asked));
     }).listen(process.env.PORT, "127.0.0.1");`,
  );
  start("custom", dataDir, { command: [process.execPath, script], readyPath: "/healthz" });
  await becomesReady();
  const { host, port } = latest()!.address!;
  expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe("3");
  // Nobody counts its requests: unknown, not none.
  expect(latest()).toMatchObject({ inFlight: null, progressTotal: null, engine: {} });
});

test("the replica ends when its parent's end of stdin closes, with the engine's own processes", async () => {
  await listen();
  const script = join(dataDir, "server.mjs");
  writeFileSync(
    script,
    'import { createServer } from "node:http"; createServer((_, answer) => answer.end("ok")).listen(process.env.PORT, "127.0.0.1");',
  );
  const child = start("custom", dataDir, { command: [process.execPath, script] });
  await becomesReady();
  const { host, port } = latest()!.address!;
  expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe("ok");
  const end = ended(child);
  child.stdin?.end();
  expect(await end).toBe("SIGKILL");
  await expect
    .poll(() =>
      fetch(`http://${host}:${port}/`).then(
        () => "up",
        () => "down",
      ),
    )
    .toBe("down");
});

test("a file that is no model ends the replica with 1 and a last line that says why and what to do", async () => {
  const path = join(dataDir, "broken.onnx");
  writeFileSync(path, "not a model");
  const child = start("onnx", path);
  let output = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    output += bytes.toString();
  });
  expect(await ended(child)).toBe(1);
  const last = JSON.parse(output.trim().split("\n").at(-1)!);
  expect(last).toMatchObject({ msg: "PENSTOCK_ONNX_LOAD", why: expect.stringContaining("not a model") });
  expect(last.todo).toMatch(/opset/);
});

test("a model that refuses its own input example never gets ready, and says what it refused", async () => {
  await listen();
  const path = writeTinyClassifier();
  writeFileSync(join(path, "..", "input_example.json"), '{"inputs": [[1, 2, 3]]}');
  const child = start("onnx", path);
  let output = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    output += bytes.toString();
  });
  expect(await ended(child)).toBe(1);
  const last = JSON.parse(output.trim().split("\n").at(-1)!);
  expect(last).toMatchObject({ msg: "PENSTOCK_WARMUP_FAILED", why: expect.stringMatching(/400.*float32\[N, 2\]/) });
  expect(phases()).not.toContain("ready");
});

test("a keeper writes from the level on that the controller tells it, and turns to another without a restart", async () => {
  logLevel = "debug";
  await listen();
  const child = start("onnx", writeTinyClassifier());
  await linesOf(child.stderr, (line) => line.includes("REPLICA_SEEN"), 2);
  await becomesReady();
  for (const keeper of controller?.peers("keeper") ?? []) keeper.send({ kind: "logLevel", level: "error" });
  const quietFrom = reports.length;
  const seen: string[] = [];
  createInterface({ input: child.stderr! }).on("line", (line) => seen.push(line));
  // The word and its echo may cross one look; the looks after three more reports come well behind it.
  await expect.poll(() => reports.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(quietFrom + 2);
  const before = seen.length;
  await expect.poll(() => reports.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(quietFrom + 5);
  expect(seen.slice(before)).toEqual([]);
  expect(new Set(reports.map(({ epoch }) => epoch)).size).toBe(1);
});
