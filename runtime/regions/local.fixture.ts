import { createLog } from "../adapters/log.ts";
import { startLocalRegion } from "./local.ts";

// A region in a process of its own: `local.fixture.ts REGION_FILE DATA_DIR`. Prints its URL; SIGTERM ends it in order.
const [configFile = "", dataDir = ""] = process.argv.slice(2);
const log = createLog({ level: "error", human: false });
const region = await startLocalRegion({ configFile, host: null, port: 0, shadows: [], dataDir, log });
process.once("SIGTERM", () => void region.stop().then(() => process.exit(0)));
process.stdout.write(`${region.baseUrl}\n`);
