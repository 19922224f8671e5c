import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Snapshot, SnapshotEndpoint, SnapshotReplica, SnapshotVersion } from "../../domain/snapshot.ts";
import { readLoad } from "../flow/load.ts";
import { createFlowMemory } from "../flow/memory.ts";
import { SlotPlanner } from "../flow/slots.ts";
import { DEFAULT_LIMITS, type Http1Limits } from "./http1/limits.ts";
import { nowMs } from "./mono.ts";
import { RouterThread } from "./router-thread.ts";
import type { FromThread } from "./thread-messages.ts";

/** What tests close when they end. */
const open: (() => unknown)[] = [];

/** Closes everything that the fixture opened. */
export async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

/** Registers something to close. */
export function onClose(close: () => unknown): void {
  open.push(close);
}

/** A fake replica speaking HTTP by node:http. */
export async function httpReplica(listener: RequestListener): Promise<number> {
  return listening(createHttpServer({ keepAliveTimeout: 60_000 }, listener));
}

/** A fake replica on raw sockets. */
export async function rawReplica(onSocket: (socket: Socket) => void): Promise<number> {
  return listening(
    createServer((socket) => {
      socket.on("error", () => {});
      onSocket(socket);
    }),
  );
}

function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  onClose(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", 4_096, () => resolve((server.address() as AddressInfo).port)),
  );
}

/** An endpoint `iris` as a router sees it. */
export function endpointOf(changes: Partial<SnapshotEndpoint> = {}): SnapshotEndpoint {
  return {
    name: "iris",
    split: [{ version: "iris-1", weight: 100 }],
    doors: ["openai", "mlflow", "kserve", "raw"],
    idempotent: true,
    timeouts: { connectMs: 1_000, firstByteMs: 20_000, stallMs: 20_000, requestMs: 60_000 },
    queue: { maxRequests: 5_000, maxBytes: 100_000_000, maxWaitMs: 20_000 },
    maxBodyBytes: 64_000_000,
    traceSampleRatio: 0,
    problem: null,
    ...changes,
  };
}

/** Version `iris-1` with one replica per port. */
export function versionOf(ports: readonly number[], changes: Partial<SnapshotVersion> = {}): SnapshotVersion {
  const replicas = ports.map(
    (port, index): SnapshotReplica => ({
      id: `iris-1-${index}`,
      epoch: 1,
      address: { host: "127.0.0.1", port },
      basePath: "",
      draining: false,
    }),
  );
  return { id: "iris-1", endpoint: "iris", targetConcurrency: 1_000, hardCap: 2_000, replicas, ...changes };
}

let generation = 0;

/** A snapshot of these rows, newer than any before it. */
export function snapshotOf(
  endpoints: readonly SnapshotEndpoint[],
  versions: readonly SnapshotVersion[],
  changes: Partial<Snapshot> = {},
): Snapshot {
  generation++;
  return {
    generation: { incarnation: 1, number: generation },
    endpoints,
    versions,
    keys: [],
    keysRequired: false,
    ...changes,
  };
}

/** One router thread in this process, with its load as the controller would see it. */
export interface TestRouter {
  readonly port: number;
  readonly messages: FromThread[];
  apply(snapshot: Snapshot): void;
  load(): { inFlight: number; queued: number; failed: number; completed: number; clientGone: number; retries: number };
  stop(): void;
}

/** Starts a router thread that serves `snapshot`. */
export async function startTestRouter(
  snapshot: Snapshot,
  limits: Partial<Http1Limits> = {},
  apiSocket = "/nonexistent.sock",
): Promise<TestRouter> {
  const memory = createFlowMemory({ threads: 1, replicaSlots: 64, versionSlots: 16 });
  const planner = new SlotPlanner(memory);
  let plan = planner.plan(snapshot);
  const messages: FromThread[] = [];
  const thread = new RouterThread(
    {
      thread: 0,
      memory: memory.buffer,
      plan,
      listen: { host: "127.0.0.1", port: 0 },
      apiSocket,
      tapping: true,
      seed: 7,
    },
    (message) => messages.push(message),
    { ...DEFAULT_LIMITS, ...limits },
  );
  const port = await thread.listen();
  onClose(() => thread.stop());
  return {
    port,
    messages,
    apply: (next) => {
      plan = planner.plan(next);
      thread.applyPlan(plan);
    },
    load: () => {
      const [row] = readLoad(memory, plan, nowMs()).versions;
      if (row === undefined) throw new Error("no version in the snapshot");
      return row;
    },
    stop: () => thread.stop(),
  };
}

/** A raw client: what it received so far, and promises for parts of it. */
export interface RawClient {
  readonly socket: Socket;
  /** Text received so far (latin1). */
  text(): string;
  /** Resolves once the text received satisfies `test`; rejects when the connection ends before. */
  until(test: (text: string) => boolean): Promise<string>;
  /** Resolves with all text once the connection is closed. */
  closed: Promise<string>;
}

/** Connects and writes `first`. */
export function rawClient(port: number, first: string | Buffer = ""): RawClient {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  onClose(() => socket.destroy());
  let text = "";
  let watchers: (() => void)[] = [];
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    look();
  });
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  if (first.length > 0) socket.write(first);
  return {
    socket,
    text: () => text,
    closed,
    until: (test) =>
      new Promise((resolve, reject) => {
        const watcher = () => {
          if (!test(text)) return;
          watchers = watchers.filter((other) => other !== watcher);
          resolve(text);
        };
        watchers.push(watcher);
        void closed.then(() => reject(new Error(`connection closed after: ${text}`)));
        watcher();
      }),
  };
}

/** Text of a POST to the endpoint `iris`. */
export function invocation(body: string, headers = ""): string {
  return `POST /serving-endpoints/iris/invocations HTTP/1.1\r\nHost: h\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Resolves once `test` holds, looking after each turn of the event loop. */
export async function eventually(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 1));
}
