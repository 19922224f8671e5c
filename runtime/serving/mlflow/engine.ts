import type { Socket } from "node:net";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { HEADERS } from "../../contract/names.ts";
import { canonicalJson, sha256Hex } from "../../core/canonical.ts";
import { UserError } from "../../core/errors.ts";
import { environmentDir } from "../../packaging/layout.ts";
import type { ChildContext, EngineExit, RunningEngine } from "../contract.ts";
import { threadEnvironment } from "../thread-settings.ts";
import { PREDICT, readModelFacts } from "./probes.ts";
import { planWorkers } from "./workers.ts";
import { connectZygote, zygoteLog } from "./zygote.ts";

/** Environment of every MLflow process, under the user's own. */
const MLFLOW_ENVIRONMENT = {
  // Each start would otherwise compile what the environment was installed without.
  PYTHONDONTWRITEBYTECODE: undefined,
  PYTHONUNBUFFERED: "1",
  MLFLOW_DISABLE_TELEMETRY: "true",
  // A request is bounded by the router, which knows the endpoint's own time-out.
  MLFLOW_SCORING_SERVER_REQUEST_TIMEOUT: "86400",
} as const;

/** Starts a replica of an MLflow model: forked from its environment's zygote, which is started by whoever comes first. */
export async function startMlflow(context: ChildContext): Promise<RunningEngine> {
  const { launch, scratchDir } = context;
  const { artifact, environmentHash, run } = launch.version;
  if (environmentHash === null) {
    throw new UserError("PENSTOCK_ENVIRONMENT", `${launch.version.id} has no environment`, "Deploy the model again.");
  }
  const facts = await readModelFacts(artifact.path);
  const workers = planWorkers(run.cpuCount, run.memoryBytes ?? totalmem() / 2, artifact.sizeBytes);
  const settings = { ...threadEnvironment(workers.threadsEach), ...MLFLOW_ENVIRONMENT, ...run.env };
  const agentPid = process.ppid;
  // Libraries read the settings when they are loaded, so that replicas with others need another zygote. One of an
  // earlier agent may take a second to notice that agent's end: this agent's replicas must not be forked from it.
  const named = canonicalJson({ agentPid, environmentHash, settings: withoutUndefined(settings) });
  const key = Buffer.from(sha256Hex(named), "hex").toString("base64url").slice(0, 8);
  const socketDir = dirname(launch.controllerSocket);
  const connection = await connectZygote({
    python: join(environmentDir(launch.dataDir, environmentHash), "bin", "python"),
    socketDir,
    agentPid,
    key,
    environment: { ...context.environment, ...settings },
    modules: facts.loaderModule === null ? [] : [facts.loaderModule],
  });
  const countersFiles = Array.from({ length: workers.most }, (_, index) => join(scratchDir, `counters-${index}`));
  const replica = new ZygoteReplica(connection, context.log);
  connection.write(
    `${JSON.stringify({
      model: artifact.path,
      host: launch.host,
      port: context.port,
      counters_files: countersFiles,
      max_in_flight: run.maxInFlight,
      memory_bytes: run.memoryBytes,
      probe_header: HEADERS.probe,
      probe_secret: context.probeSecret,
      refused_header: HEADERS.refused,
      scratch: scratchDir,
      example_request: facts.exampleRequest,
    })}\n`,
  );
  await replica.forked.catch(async () => {
    throw new UserError(
      "PENSTOCK_MLFLOW_START",
      `the model's Python ended before the replica began: ${await zygoteLog(socketDir, key)}`,
      "Correct the model's requirements, then deploy again.",
    );
  });
  return {
    address: { host: launch.host, port: context.port },
    readiness: { path: "/ping", statusBelow: 300 },
    classes: [PREDICT],
    probes: facts.probes,
    countersFiles,
    rootPids: () => replica.pids(),
    kill: (signal) => replica.kill(signal),
    exited: replica.exited,
  };
}

function withoutUndefined(settings: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** The keeper's end of a connection to a zygote: one replica's process, its output and its end. */
class ZygoteReplica {
  readonly forked: Promise<void>;
  readonly exited: Promise<EngineExit>;
  #pid: number | null = null;
  #exit: EngineExit = { code: null, signal: null };

  constructor(connection: Socket, log: (line: string) => void) {
    const forked = Promise.withResolvers<void>();
    const exited = Promise.withResolvers<EngineExit>();
    this.forked = forked.promise;
    this.exited = exited.promise;
    connection.on("error", () => connection.destroy());
    createInterface({ input: connection }).on("line", (line) => {
      const [word, first = "", second = ""] = line.startsWith("\0") ? line.slice(1).split(" ") : [];
      if (word === "pid") {
        this.#pid = Number(first);
        forked.resolve();
      } else if (word === "exit") {
        this.#exit = { code: first === "-" ? null : Number(first), signal: second === "-" ? null : second };
      } else {
        log(line);
      }
    });
    connection.on("close", () => {
      this.#pid = null;
      forked.reject(new Error("closed"));
      exited.resolve(this.#exit);
    });
  }

  pids(): readonly number[] {
    return this.#pid === null ? [] : [this.#pid];
  }

  /** To the whole group: further workers and what the model itself started. */
  kill(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.#pid === null) return;
    try {
      process.kill(-this.#pid, signal);
    } catch {
      // It has ended in this moment; `exited` tells.
    }
  }
}
