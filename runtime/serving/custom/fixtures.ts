import { createServer } from "node:net";
import { join } from "node:path";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";
import { asWallMs } from "../../core/time.ts";
import type { RunSettings, RuntimeKind } from "../../domain/version.ts";

/** Run settings as a deploy without any leaves them, for tests. */
export const PLAIN_RUN: RunSettings = {
  cpuCount: 1,
  memoryBytes: null,
  env: {},
  command: null,
  url: null,
  readyPath: null,
  contextTokens: null,
  maxInFlight: null,
};

/** The launch of a replica on loopback, for tests of child engines. */
export function launchOf(
  runtime: RuntimeKind,
  made: {
    readonly run: RunSettings;
    readonly artifactPath: string;
    readonly environmentHash: string | null;
    readonly dataDir: string;
  },
): ReplicaLaunch {
  const artifact = { source: made.artifactPath, digest: "0".repeat(64), path: made.artifactPath, sizeBytes: 10_000 };
  return {
    id: "tested-0000000000-1",
    epoch: 1,
    version: {
      id: "tested-0000000000",
      endpoint: "tested",
      runtime,
      artifact,
      environmentHash: made.environmentHash,
      run: made.run,
      createdAtMs: asWallMs(0),
    },
    controllerSocket: join(made.dataDir, "run", "controller.sock"),
    dataDir: made.dataDir,
    host: "127.0.0.1",
    port: 0,
  };
}

/** A port of loopback that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}

/** Whether there is a process of that id that has not ended. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
