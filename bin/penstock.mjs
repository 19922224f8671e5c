#!/usr/bin/env node
// The `penstock` command: makes sure that the dependencies are there, then runs the CLI under the pinned Node.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureDependencies, handOver, nodeBinary } from "./bootstrap.mjs";

ensureDependencies();
handOver(nodeBinary(), [
  join(dirname(dirname(fileURLToPath(import.meta.url))), "cli", "penstock.ts"),
  ...process.argv.slice(2),
]);
