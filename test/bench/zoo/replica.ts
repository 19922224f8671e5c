import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { listenForPeers } from "../../../runtime/adapters/controller-server.ts";
import { createLog } from "../../../runtime/adapters/log.ts";
import { ENV } from "../../../runtime/contract/names.ts";
import { endpointInput } from "../../../runtime/contract/spec/endpoint.ts";
import type { ReplicaLaunch } from "../../../runtime/contract/wire/launch.ts";
import { replicaIdOf } from "../../../runtime/domain/names.ts";
import type { Address, ReplicaReport } from "../../../runtime/domain/replica.ts";
import { makeVersion } from "../../../runtime/node/prepare/make-version.ts";
import { specOf } from "../../../runtime/operate/api/spec-of.ts";
import { context } from "./make-zoo.ts";
import type { ZooModel } from "./models.ts";

const KEEPER = join(import.meta.dirname, "../../../runtime/regions/keeper.ts");
const READY_WITHIN_MS = 180_000;
const HELD_LINES = 20;

/** A real replica process, ready, with what its keeper said last. */
export interface Replica {
  readonly address: Address;
  readonly report: () => { readonly said: ReplicaReport; readonly atMs: number };
  stop(): Promise<void>;
}

/** Prepares the model as a region does, with no settings, and starts one replica of it. */
export async function startReplica(model: ZooModel, dataDir: string): Promise<Replica> {
  const run = model.command === undefined ? {} : { run: { command: model.command } };
  const input = endpointInput.parse({ name: model.name, model: model.model, ...run });
  const version = await makeVersion(specOf(input, null, "api"), { ...context, dataDir });
  const id = replicaIdOf(version.id, 0);
  const controllerSocket = join(dataDir, `${model.name}.sock`);
  const ready = Promise.withResolvers<Address>();
  let last: { said: ReplicaReport; atMs: number } | null = null;
  const server = await listenForPeers(controllerSocket, {
    observer: {
      hello: () => {},
      message: (_peer, message) => {
        if (message.kind !== "replica") return;
        last = { said: message.report, atMs: performance.now() };
        if (message.report.phase === "ready" && message.report.address !== null) ready.resolve(message.report.address);
      },
      gone: () => {},
    },
    log: createLog({ level: "error", human: true }),
  });
  const launch: ReplicaLaunch = { id, epoch: 1, version, controllerSocket, dataDir, host: "127.0.0.1", port: 0 };
  const child = spawn(process.execPath, [KEEPER], {
    env: { ...process.env, [ENV.replicaLaunch]: JSON.stringify(launch) },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (bytes: Buffer) => lines.splice(0, lines.length - HELD_LINES, bytes.toString().trimEnd()));
  }
  (child.stdio[3] as Readable).resume();
  const exited = once(child, "exit");
  const giveUp = setTimeout(() => ready.reject(new Error(`not ready within ${READY_WITHIN_MS} ms`)), READY_WITHIN_MS);
  void exited.then(([code]) => ready.reject(new Error(`the replica ended with ${code}: ${lines.join(" | ")}`)));
  const stop = async (): Promise<void> => {
    clearTimeout(giveUp);
    // The keeper takes the end of its standard input for its parent's death, and ends with all that it started.
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) await exited;
    await server.close();
  };
  try {
    const address = await ready.promise;
    clearTimeout(giveUp);
    return { address, report: () => last!, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
