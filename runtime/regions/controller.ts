import { createLog } from "../adapters/log.ts";
import { ENV } from "../contract/names.ts";
import type { ControllerLaunch } from "../contract/wire/launch.ts";
import { assert } from "../core/assert.ts";
import { UserError } from "../core/errors.ts";
import { keepBeating, watchParent } from "../node/keeper/parent.ts";
import { cacheDir } from "./cache-dir.ts";
import { runController } from "./region-controller.ts";

/** The controller's process: reads its launch from the environment and runs until SIGTERM, or until its parent has gone. */
async function main(): Promise<void> {
  const text = process.env[ENV.controllerLaunch];
  assert(text !== undefined, `${ENV.controllerLaunch} is not set: the controller is started by the agent`);
  delete process.env[ENV.controllerLaunch];
  const log = createLog({ level: "info", human: false });
  watchParent(() => process.exit(1));
  try {
    const running = await runController(JSON.parse(text) as ControllerLaunch, { cacheDir: cacheDir(), log });
    keepBeating();
    process.once("SIGTERM", () => void running.stop().then(() => process.exit(0)));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    log.error(error.code, { why: error.message, todo: error.todo });
    process.exit(1);
  }
}

await main();
