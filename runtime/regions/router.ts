import { fstatSync } from "node:fs";
import { systemClock } from "../adapters/clock.ts";
import { dialController } from "../adapters/controller-link.ts";
import { createLog } from "../adapters/log.ts";
import { systemRandom } from "../adapters/random.ts";
import { ENV } from "../contract/names.ts";
import type { RouterLaunch } from "../contract/wire/launch.ts";
import { UserError } from "../core/errors.ts";
import { nowMs } from "../dataplane/wire/mono.ts";
import { startRouter } from "../dataplane/wire/router.ts";
import { keepBeating } from "../node/keeper/parent.ts";
import { createSpanTap } from "../operate/telemetry/span-tap.ts";

// Composition root of a router process. Exit codes: 0 asked to stop, 98 the port is in use (as EADDRINUSE), 1 anything else.
const EXIT_PORT_IN_USE = 98;

const text = process.env[ENV.routerLaunch];
if (text === undefined) {
  process.stderr.write(`${ENV.routerLaunch} is not set: a router is started by the agent (\`penstock up\`)\n`);
  process.exit(1);
}
const launch = JSON.parse(text) as RouterLaunch;
const log = createLog({ level: "info", human: false }).with({ process: "router", router: launch.name });

endWithParent();
try {
  const tap = await createSpanTap(process.env, {
    serviceName: "penstock-router",
    wallOffsetMs: () => systemClock.wallMs() - nowMs(),
  });
  const router = await startRouter({
    launch,
    clock: systemClock,
    random: systemRandom,
    log,
    tap,
    dial: (handlers) =>
      dialController({ socket: launch.controllerSocket, clock: systemClock, random: systemRandom, log, ...handlers }),
  });
  log.info("ROUTER_LISTENING", { host: launch.host, port: router.port, threads: launch.threads });
  keepBeating();
  process.once("SIGTERM", () => {
    void router
      .stop()
      .then(() => tap?.close())
      .finally(() => process.exit(0));
  });
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  log.error(error.code, { why: error.message, todo: error.todo });
  process.exit(error.code === "PENSTOCK_PORT_IN_USE" ? EXIT_PORT_IN_USE : 1);
}

/** Standard input is a pipe held by the parent: its end means that the parent is gone. */
function endWithParent(): void {
  const input = fstatSync(0);
  if (!input.isFIFO() && !input.isSocket()) return;
  process.stdin.resume();
  process.stdin.on("end", () => process.exit(0));
  process.stdin.on("error", () => process.exit(0));
}
