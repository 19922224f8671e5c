import type { Address } from "../domain/replica.ts";
import type { RunSettings, RuntimeKind } from "../domain/version.ts";
import type { Engine, InProcessRuntime } from "./contract.ts";
import { launchOf, PLAIN_RUN } from "./custom/fixtures.ts";
import { type Counts, ReplicaCounters, readCounts } from "./replica-counters.ts";
import { ReplicaServer } from "./replica-server.ts";

/** An in-process engine behind its HTTP server on loopback, for tests. */
export interface ServedEngine {
  readonly engine: Engine;
  readonly address: Address;
  /** Value of HEADERS.probe in a keeper's own requests. */
  readonly probeSecret: string;
  counts(): Counts;
  close(): Promise<void>;
}

/** Loads the artifact at `artifactPath` as a replica does, and serves it. */
export async function serveEngine(
  kind: RuntimeKind,
  runtime: InProcessRuntime,
  artifactPath: string,
  run: Partial<RunSettings> = {},
): Promise<ServedEngine> {
  const counters = new ReplicaCounters(runtime.classes, () => performance.now());
  const launch = launchOf(kind, { run: { ...PLAIN_RUN, ...run }, artifactPath, environmentHash: null, dataDir: "" });
  const probeSecret = "s";
  const engine = await runtime.start({ launch, counters });
  const server = new ReplicaServer({ engine, counters, maxInFlight: null, probeSecret, onFault: () => {} });
  const slots = [new Float64Array(counters.shared)];
  return {
    engine,
    address: await server.listen("127.0.0.1"),
    probeSecret,
    counts: () => readCounts(slots, runtime.classes),
    close: async () => {
      await server.drain();
      await engine.close();
    },
  };
}
