import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Hello, ToController, WireMessage } from "../../contract/wire/messages.ts";
import type { MonoMs, WallMs } from "../../core/time.ts";
import type { Snapshot } from "../../domain/snapshot.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import {
  closeAll,
  endpointOf,
  eventually,
  httpReplica,
  invocation,
  onClose,
  rawClient,
  snapshotOf,
  versionOf,
} from "./fixture.ts";
import { type Router, startRouter } from "./router.ts";

afterEach(closeAll);

let isClockStopped = false;
beforeEach(() => {
  isClockStopped = false;
});
const clock: Clock = {
  monoMs: () => performance.now() as MonoMs,
  wallMs: () => Date.now() as WallMs,
  now: () => ({ mono: performance.now() as MonoMs, wall: Date.now() as WallMs }),
  after: (delayMs, callback) => {
    const timer = setTimeout(() => {
      if (!isClockStopped) callback();
    }, delayMs);
    return () => clearTimeout(timer);
  },
};

interface Started {
  readonly router: Router;
  readonly sent: ToController[];
  readonly logged: string[];
  say(message: WireMessage): void;
  hello(): Hello;
  lastLoad(): Extract<ToController, { kind: "routerLoad" }>["load"];
}

async function start(folder: string, changes: { port?: number; threads?: number } = {}): Promise<Started> {
  const sent: ToController[] = [];
  const logged: string[] = [];
  const note = (code: string) => void logged.push(code);
  const log: Log = { debug: note, info: note, warn: note, error: note, with: () => log };
  let handlers: { hello: () => Hello; onMessage: (message: WireMessage) => void; onConnected: () => void } | null =
    null;
  const router = await startRouter({
    launch: {
      name: "router-0",
      epoch: 3,
      host: "127.0.0.1",
      port: changes.port ?? 0,
      threads: changes.threads ?? 2,
      controllerSocket: join(folder, "controller.sock"),
      apiSocket: join(folder, "api.sock"),
      snapshotFile: join(folder, "snapshot.json"),
    },
    clock,
    random: { uniform: Math.random },
    log,
    tap: null,
    dial: (given) => {
      handlers = given;
      return { send: (message) => sent.push(message) > 0, close: () => {} };
    },
  });
  onClose(() => router.stop());
  return {
    router,
    sent,
    logged,
    say: (message) => handlers!.onMessage(message),
    hello: () => handlers!.hello(),
    lastLoad: () => sent.filter((message) => message.kind === "routerLoad").at(-1)!.load,
  };
}

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), "penstock-router-"));
  onClose(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const okReplica = () =>
  httpReplica((incoming, answer) => {
    incoming.resume();
    incoming.on("end", () => answer.end("ok"));
  });

const call = async (port: number) =>
  (await rawClient(port, invocation("x", "Connection: close\r\n")).closed).split("\r\n")[0];

const answers = async (port: number) => (await call(port)) === "HTTP/1.1 200 OK";

async function untilServed(port: number): Promise<void> {
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 1));
}

test("serves what the controller says and keeps it on disk for a life without it", async () => {
  const folder = folderOf();
  const first = await start(folder);
  expect(first.hello()).toMatchObject({ role: "router", name: "router-0", epoch: 3, holds: null });
  expect(await call(first.router.port)).toBe("HTTP/1.1 401 Unauthorized");
  const snapshot = snapshotOf([endpointOf()], [versionOf([await okReplica()])]);
  first.say({ kind: "snapshot", snapshot });
  await untilServed(first.router.port);
  await first.router.stop();
  const kept: unknown = JSON.parse(readFileSync(join(folder, "snapshot.json"), "utf8"));
  expect(kept).toEqual({ format: "snapshot/1", ...snapshot });

  const second = await start(folder);
  expect(await call(second.router.port)).toBe("HTTP/1.1 200 OK");
  expect(second.hello().holds).toEqual(snapshot.generation);
});

test.each([
  ["is cut off", '{"generation":{"incar'],
  [
    "is of another shape inside",
    '{"format":"snapshot/1","generation":{"incarnation":1},"keysRequired":false,"keys":[],"endpoints":[{"name":"a"}],"versions":[null]}',
  ],
  [
    "another release wrote",
    '{"format":"snapshot/2","generation":{"incarnation":1},"keysRequired":false,"keys":[],"endpoints":[],"versions":[]}',
  ],
])("a snapshot file that %s is set aside with a warning", async (_, text) => {
  const folder = folderOf();
  writeFileSync(join(folder, "snapshot.json"), text);
  const { router, logged } = await start(folder);
  expect(logged).toContain("ROUTER_SNAPSHOT_SET_ASIDE");
  expect(readFileSync(join(folder, "snapshot.json.set-aside"), "utf8")).toBe(text);
  expect(await call(router.port)).toBe("HTTP/1.1 401 Unauthorized");
});

test("a diff changes rows, and a gap asks for the whole", async () => {
  const { router, say, sent } = await start(folderOf());
  const port = await okReplica();
  const first = snapshotOf([endpointOf({ problem: "not yet" })], [versionOf([port])]);
  const second = snapshotOf([endpointOf()], []);
  say({ kind: "snapshot", snapshot: first });
  say(diff(first, second));
  await untilServed(router.port);
  const hellos = () => sent.filter((message) => message.kind === "hello");
  expect(hellos()).toHaveLength(0);
  say(diff(first, second));
  expect(hellos()).toHaveLength(0);
  const third = snapshotOf([], []);
  const fourth = snapshotOf([endpointOf()], []);
  say(diff(third, fourth));
  expect(hellos()).toEqual([expect.objectContaining({ holds: second.generation })]);
});

function diff(from: Snapshot, to: Snapshot): WireMessage {
  return {
    kind: "snapshotDiff",
    from: from.generation,
    to: to.generation,
    endpoints: to.endpoints,
    removedEndpoints: [],
    versions: to.versions,
    removedVersions: [],
    keys: null,
    keysRequired: false,
  };
}

test("a thread that ends is replaced while the other one serves, its leases are gone and its counters stay", async () => {
  const hung = await httpReplica((incoming, answer) => {
    incoming.resume();
    if (incoming.headers["x-hang"] === undefined) incoming.on("end", () => answer.end("ok"));
  });
  const { router, say, lastLoad } = await start(folderOf());
  say({ kind: "snapshot", snapshot: snapshotOf([endpointOf()], [versionOf([hung])]) });
  await untilServed(router.port);
  // The kernel spreads connections over both threads; enough of them hang on each.
  const held = Array.from({ length: 32 }, () => rawClient(router.port, invocation("x", "X-Hang: 1\r\n")));
  await eventually(() => lastLoad().versions[0]?.inFlight === 32);
  const before = lastLoad().versions[0]!.completed;
  const replaced = router.killThread(0);
  const lost = await Promise.race(held.map((client) => client.closed.then(() => true)));
  expect(lost).toBe(true);
  for (let index = 0; index < 10; index++) expect(await call(router.port)).toBe("HTTP/1.1 200 OK");
  await replaced;
  for (const client of held) client.socket.destroy();
  await eventually(() => lastLoad().versions[0]?.inFlight === 0);
  expect(lastLoad().versions[0]!.completed).toBeGreaterThanOrEqual(before + 10);
});

test("a thread that ends is replaced by the one in reserve, which has loaded its code already", async () => {
  let workers = 0;
  const count = () => void workers++;
  process.on("worker", count);
  onClose(() => process.off("worker", count));
  const { router } = await start(folderOf(), { threads: 2 });
  await eventually(() => workers === 3);
  // Nothing is loaded any more: the next reserve's time never comes.
  isClockStopped = true;
  await router.killThread(0);
  expect(workers).toBe(3);
});

test("says that the port is in use instead of sharing it with another region", async () => {
  const first = await start(folderOf());
  await expect(start(folderOf(), { port: first.router.port })).rejects.toMatchObject({ code: "PENSTOCK_PORT_IN_USE" });
});

test("stopping finishes what is in flight and closes kept connections", async () => {
  let release = () => {};
  const port = await httpReplica((incoming, answer) => {
    incoming.resume();
    release = () => answer.end("late but whole");
  });
  const { router, say } = await start(folderOf(), { threads: 1 });
  say({ kind: "snapshot", snapshot: snapshotOf([endpointOf()], [versionOf([port])]) });
  const idle = rawClient(router.port, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  await idle.until((text) => text.endsWith("}"));
  const busy = rawClient(router.port);
  await eventually(() => busy.socket.readyState === "open");
  let released = release;
  busy.socket.write(invocation("x"));
  await eventually(() => release !== released);
  released = release;
  const stopped = router.stop();
  await idle.closed;
  release();
  const text = await busy.closed;
  expect(text).toContain("connection: close\r\n");
  expect(text.endsWith("late but whole")).toBe(true);
  await stopped;
});

test("stopping ends who follows the region's events, and who has not sent all of a request to it, at once", async () => {
  const folder = folderOf();
  const { router } = await start(folder, { threads: 1 });
  const api = createServer((incoming, answer) => {
    if (incoming.method !== "GET") return;
    answer.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
  });
  await new Promise<void>((resolve) => api.listen(join(folder, "api.sock"), resolve));
  onClose(() => api.close());
  const follower = rawClient(router.port, "GET /api/v1/events HTTP/1.1\r\nHost: h\r\n\r\n");
  await follower.until((text) => text.includes("data: 1"));
  const half = "PUT /api/v1/endpoints/a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n{";
  const slow = rawClient(router.port, half);
  await slow.until((text) => text.includes("100 Continue"));
  await router.stop();
  expect((await follower.closed).endsWith("data: 1\n\n\r\n0\r\n\r\n")).toBe(true);
  expect(await slow.closed).toContain("503 Service Unavailable");
});

test("hands the region's own paths through to the controller, and says so while it is away", async () => {
  const folder = folderOf();
  const { router } = await start(folder, { threads: 1 });
  const get = (path: string) =>
    rawClient(router.port, `GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\nConnection: close\r\n\r\n`)
      .closed;
  expect(await get("/api/v1/endpoints")).toMatch(
    /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n[\s\S]*PENSTOCK_CONTROLLER_AWAY/,
  );
  const api = createServer((incoming, answer) => answer.end(`${incoming.url} ${incoming.headers.authorization}`));
  await new Promise<void>((resolve) => api.listen(join(folder, "api.sock"), resolve));
  onClose(() => api.close());
  expect((await get("/api/v1/endpoints?x=1")).endsWith("/api/v1/endpoints?x=1 Bearer k")).toBe(true);
  expect((await get("/metrics")).endsWith("/metrics Bearer k")).toBe(true);
});
