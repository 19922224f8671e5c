import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeFrame } from "../contract/wire/frames.ts";
import type { Hello, ToController, WireMessage } from "../contract/wire/messages.ts";
import { systemClock } from "./clock.ts";
import { type ControllerLink, dialController } from "./controller-link.ts";
import { type ControllerServer, listenForPeers, type Peer } from "./controller-server.ts";
import { createLog } from "./log.ts";
import { systemRandom } from "./random.ts";

const log = createLog({ level: "error", human: false });
let folder: string;
let socket: string;
const cleanups: (() => unknown)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-link-"));
  socket = join(folder, "c.sock");
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  rmSync(folder, { recursive: true, force: true });
});

/** A list that can be awaited: `at(n)` resolves with the n-th item once it is there. */
function arrivals<T>(): { push(item: T): void; at(index: number): Promise<T>; readonly items: T[] } {
  const items: T[] = [];
  const waiting: { index: number; resolve(item: T): void }[] = [];
  return {
    items,
    push: (item) => {
      items.push(item);
      for (const wait of waiting) if (wait.index === items.length - 1) wait.resolve(item);
    },
    at: (index) =>
      index < items.length
        ? Promise.resolve(items[index] as T)
        : new Promise((resolve) => waiting.push({ index, resolve })),
  };
}

type Event = { readonly what: "hello" | "gone" | ToController["kind"]; readonly peer: Peer };

async function startServer(): Promise<{ server: ControllerServer; events: ReturnType<typeof arrivals<Event>> }> {
  const events = arrivals<Event>();
  const server = await listenForPeers(socket, {
    log,
    observer: {
      hello: (peer) => events.push({ what: "hello", peer }),
      message: (peer, message) => events.push({ what: message.kind, peer }),
      gone: (peer) => events.push({ what: "gone", peer }),
    },
  });
  cleanups.push(() => server.close());
  return { server, events };
}

const helloOf = (name: string): Hello => ({ kind: "hello", role: "agent", name, epoch: 1, holds: null });

function dial(name: string, connected?: (link: ControllerLink) => void) {
  const messages = arrivals<WireMessage>();
  const link = dialController({
    socket,
    hello: () => helloOf(name),
    onMessage: (message) => messages.push(message),
    ...(connected ? { onConnected: connected } : {}),
    clock: systemClock,
    random: systemRandom,
    log,
  });
  cleanups.push(() => link.close());
  return { link, messages };
}

test("a peer says hello, then messages go both ways in order", async () => {
  const { events } = await startServer();
  const { messages } = dial("a", (link) => {
    for (let index = 0; index < 3; index++) link.send({ kind: "gone", replica: `r-${index}` });
  });
  const { peer, what } = await events.at(0);
  expect(what).toBe("hello");
  await events.at(3);
  expect(events.items.map((event) => event.what)).toEqual(["hello", "gone", "gone", "gone"]);
  peer.send({ kind: "removeVersion", version: "iris-1" });
  expect(await messages.at(0)).toEqual({ kind: "removeVersion", version: "iris-1" });
});

test("a peer dials again, and says everything again, when the controller comes back", async () => {
  const { server, events } = await startServer();
  dial("a");
  await events.at(0);
  await server.close();
  const second = await startServer();
  expect((await second.events.at(0)).what).toBe("hello");
});

test("a peer that starts before the controller finds it later", async () => {
  const { link } = dial("early");
  expect(link.send({ kind: "gone", replica: "r" })).toBe(false);
  const { events } = await startServer();
  expect((await events.at(0)).peer.name).toBe("early");
});

test("the newest connection of a name wins and the older one is told gone", async () => {
  const { server, events } = await startServer();
  const older = rawPeer(helloOf("a"));
  const first = (await events.at(0)).peer;
  rawPeer(helloOf("a"));
  await new Promise((resolve) => older.once("close", resolve));
  expect(events.items.map((event) => event.what)).toEqual(["hello", "gone", "hello"]);
  expect(server.peers("agent")).toHaveLength(1);
  expect(server.peers("agent")[0]).not.toBe(first);
});

test("a bad frame closes that peer and no other", async () => {
  const { server, events } = await startServer();
  rawPeer(helloOf("good"));
  const bad = rawPeer(helloOf("bad"));
  await events.at(1);
  bad.write(Buffer.from([0, 0, 0, 1, 99, 0]));
  await new Promise((resolve) => bad.once("close", resolve));
  expect(server.peers("agent").map((peer) => peer.name)).toEqual(["good"]);
});

test("a message before hello closes the connection", async () => {
  const { server } = await startServer();
  const rude = connect(socket);
  rude.write(encodeFrame({ kind: "gone", replica: "r" }));
  await new Promise((resolve) => rude.once("close", resolve));
  expect(server.peers("agent")).toEqual([]);
});

test("hello said again on one connection asks for everything anew", async () => {
  const { events } = await startServer();
  const { link } = dial("a");
  await events.at(0);
  link.send({ ...helloOf("a"), epoch: 2 });
  expect((await events.at(1)).peer.hello.epoch).toBe(2);
});

test("a peer that stops reading is cut off instead of filling the controller's memory", async () => {
  const { server, events } = await startServer();
  const deaf = rawPeer(helloOf("deaf"));
  const { peer } = await events.at(0);
  deaf.pause();
  const closed = new Promise((resolve) => deaf.once("close", resolve));
  const big = { kind: "removeVersion", version: "x".repeat(16 * 1024 * 1024) } as const;
  // 80 MiB may wait; six frames of 16 MiB are more, whatever the kernel took.
  const sent = Array.from({ length: 8 }, () => peer.send(big));
  expect(sent).toContain(false);
  deaf.resume();
  await closed;
  expect(server.peers("agent")).toEqual([]);
});

function rawPeer(hello: Hello): Socket {
  const raw = connect(socket);
  raw.on("error", () => {});
  raw.resume();
  raw.write(encodeFrame(hello));
  cleanups.push(() => raw.destroy());
  return raw;
}
