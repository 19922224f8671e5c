import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { ThreadBreaker } from "../../test/e2e/router-threads.ts";
import { encodeKept } from "../adapters/kept-file.ts";
import { ENV } from "../contract/names.ts";
import type { RouterLaunch } from "../contract/wire/launch.ts";
import type { Snapshot } from "../domain/snapshot.ts";

const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** A replica whose answers are given by the test. */
async function replica(onRequest: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", () => onRequest(socket));
  });
  closes.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function snapshotOf(port: number): Snapshot {
  const timeouts = { connectMs: 1_000, firstByteMs: 60_000, stallMs: 60_000, requestMs: 60_000 };
  return {
    generation: { incarnation: 1, number: 1 },
    keysRequired: false,
    keys: [],
    endpoints: [
      {
        name: "iris",
        split: [{ version: "iris-1", weight: 100 }],
        doors: ["mlflow"],
        idempotent: true,
        timeouts,
        queue: { maxRequests: 10, maxBytes: 1e6, maxWaitMs: 1_000 },
        maxBodyBytes: 1e6,
        traceSampleRatio: 0,
        problem: null,
      },
    ],
    versions: [
      {
        id: "iris-1",
        endpoint: "iris",
        targetConcurrency: 8,
        hardCap: 8,
        replicas: [{ id: "iris-1-0", epoch: 1, address: { host: "127.0.0.1", port }, basePath: "", draining: false }],
      },
    ],
  };
}

/** A router process with a snapshot on disk and no controller. */
async function routerProcess(
  snapshot: Snapshot | null,
  { port = 0, threads = 1 } = {},
): Promise<{
  readonly child: ChildProcess;
  readonly exit: Promise<number | null>;
  readonly listening: Promise<number>;
  /** All that it wrote to its log. */
  log(): string;
}> {
  const folder = mkdtempSync(join(tmpdir(), "penstock-router-process-"));
  closes.push(() => rmSync(folder, { recursive: true, force: true }));
  const snapshotFile = join(folder, "snapshot.json");
  if (snapshot !== null) writeFileSync(snapshotFile, encodeKept("snapshot/1", snapshot));
  const launch: RouterLaunch = {
    name: "router-0",
    epoch: 1,
    host: "127.0.0.1",
    port,
    threads,
    controllerSocket: join(folder, "nobody.sock"),
    apiSocket: join(folder, "nobody-either.sock"),
    snapshotFile,
  };
  const child = spawn(process.execPath, ["--inspect-port=0", join(import.meta.dirname, "router.ts")], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, [ENV.routerLaunch]: JSON.stringify(launch) },
  });
  closes.push(() => child.kill("SIGKILL"));
  const exit = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  let said = "";
  child.stderr!.on("data", (piece) => {
    said += String(piece);
  });
  return { child, exit, listening: portSaidBy(child), log: () => said };
}

/** The port in the log line that a router writes once it serves. */
async function portSaidBy(child: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const said = /"port":(\d+).*ROUTER_LISTENING/.exec(line);
    if (said !== null) return Number(said[1]);
  }
  return 0;
}

const CALL = "POST /serving-endpoints/iris/invocations HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}";

/** All that a connection receives until it is closed. */
function ask(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  closes.push(() => socket.destroy());
  socket.write(CALL);
  let text = "";
  socket.on("data", (piece) => {
    text += String(piece);
  });
  socket.on("error", () => {});
  return new Promise((resolve) => socket.once("close", () => resolve(text)));
}

test("SIGTERM ends it with 0 once what is in flight has its whole answer", async () => {
  let asked = (_socket: Socket): void => {};
  const request = new Promise<Socket>((resolve) => {
    asked = resolve;
  });
  const { child, exit, listening } = await routerProcess(snapshotOf(await replica((socket) => asked(socket))));
  const answer = ask(await listening);
  const upstream = await request;
  child.kill("SIGTERM");
  upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate");
  expect((await answer).endsWith("\r\n\r\nlate")).toBe(true);
  expect(await exit).toBe(0);
});

test("it ends with its parent: when standard input ends", async () => {
  const { child, exit, listening } = await routerProcess(null);
  await listening;
  child.stdin!.end();
  expect(await exit).toBe(0);
});

test("a port in use is told by the exit code 98 and by what to do", async () => {
  const taken = await replica(() => {});
  const { child, exit } = await routerProcess(null, { port: taken });
  let said = "";
  child.stderr!.on("data", (piece) => {
    said += String(piece);
  });
  expect(await exit).toBe(98);
  expect(said).toContain("PENSTOCK_PORT_IN_USE");
  expect(said).toContain("--port");
});

test("a thread that spins for ever is ended and replaced, and meanwhile the other one serves", {
  timeout: 60_000,
}, async () => {
  const port = await replica((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  const { child, listening, log } = await routerProcess(snapshotOf(port), { threads: 2 });
  const at = await listening;
  const breaker = await ThreadBreaker.open(child.pid!, log);
  closes.push(() => breaker.close());
  let isSpinning = true;
  const ended = breaker.spinInThread(0).then(() => {
    isSpinning = false;
  });
  // The kernel gives either thread a connection: those of the one that spins hang until it is ended.
  let served = 0;
  while (isSpinning) if (await Promise.race([isAnswered(at), ended])) served++;
  expect(served).toBeGreaterThan(0);
  expect(log()).toContain("ROUTER_THREAD_STANDS_STILL");
  for (let inARow = 0; inARow < 20; ) inARow = (await isAnswered(at)) ? inARow + 1 : 0;
});

/** Whether a new connection gets a whole answer. */
async function isAnswered(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  closes.push(() => socket.destroy());
  socket.write(CALL);
  socket.on("error", () => {});
  return new Promise((resolve) => {
    socket.once("data", (piece) => resolve(String(piece).endsWith("\r\n\r\nok")));
    socket.once("close", () => resolve(false));
  });
}

test("without its launch settings it says who starts it and ends with 1", async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "router.ts")], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  closes.push(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (piece) => {
    said += String(piece);
  });
  const [code] = await once(child, "close");
  expect(code).toBe(1);
  expect(said).toContain("penstock up");
});
