import { createLog, type LeveledLog } from "../adapters/log.ts";
import { ENV } from "../contract/names.ts";
import type { ReplicaLaunch } from "../contract/wire/launch.ts";
import { assert, unreachable } from "../core/assert.ts";
import { UserError } from "../core/errors.ts";
import { runBeside } from "../node/keeper/beside.ts";
import { runInProcess } from "../node/keeper/in-process.ts";
import { threadEnvironment } from "../serving/thread-settings.ts";

/**
 * A replica's process: reads its launch from the environment, loads only the runtime its version needs, and runs engine
 * and keeper. Ends with 0 when drained; with 1, and the reason as its last line, when it can't serve.
 */
async function main(): Promise<void> {
  const text = process.env[ENV.replicaLaunch];
  assert(text !== undefined, `${ENV.replicaLaunch} is not set: replicas are started by the agent`);
  const launch = JSON.parse(text) as ReplicaLaunch;
  const { run } = launch.version;
  delete process.env[ENV.replicaLaunch];
  Object.assign(process.env, threadEnvironment(run.cpuCount), run.env);
  const log = createLog({ level: "info", human: false }).with({ replica: launch.id });
  try {
    await runReplica(launch, log);
    process.exit(0);
  } catch (error) {
    if (error instanceof UserError) log.error(error.code, { why: error.message, todo: error.todo });
    else log.error("REPLICA_FAILED", { why: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  }
}

async function runReplica(launch: ReplicaLaunch, log: LeveledLog): Promise<void> {
  const { runtime } = launch.version;
  switch (runtime) {
    case "onnx":
      return runInProcess(launch, (await import("../serving/onnx/runtime.ts")).onnxRuntime, log);
    case "gguf":
      return runInProcess(launch, (await import("../serving/gguf/runtime.ts")).ggufRuntime, log);
    case "mlflow":
      return runBeside(launch, (await import("../serving/mlflow/engine.ts")).startMlflow, process.env, log);
    case "custom":
      return runBeside(launch, (await import("../serving/custom/engine.ts")).startCustom, process.env, log);
    default:
      return unreachable(runtime);
  }
}

await main();
