import { join } from "node:path";
import { systemClock } from "../../adapters/clock.ts";
import { createLog } from "../../adapters/log.ts";
import { systemRandom } from "../../adapters/random.ts";
import { Agent } from "./agent.ts";
import type { Command } from "./child.ts";

// An agent whose processes are shell scripts: `agent.fixture.ts DATA_DIR SCRIPT PATH`. The script gets `controller`, `router`
// or a replica's id as $1, and the path of its artifact as $2. SIGTERM ends the agent in order.
const [dataDir = "", script = "", path = ""] = process.argv.slice(2);
const command = (name: string, artifact = ""): Command => ({
  program: "/bin/sh",
  args: ["-c", script, "sh", name, artifact],
  env: { PATH: path },
});

const agent = new Agent({
  name: "here",
  dataDir,
  controllerSocket: join(dataDir, "c.sock"),
  host: "127.0.0.1",
  services: { controller: () => command("controller"), router: () => command("router") },
  replica: (launch) => command(launch.id, launch.version.artifact.path),
  lastPortOf: () => 0,
  onService: () => {},
  clock: systemClock,
  random: systemRandom,
  log: createLog({ level: "error", human: false }),
});
process.once("SIGTERM", () => void agent.stop().then(() => process.exit(0)));
