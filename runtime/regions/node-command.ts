import { join } from "node:path";
import { ENV } from "../contract/names.ts";
import type { ControllerLaunch, ReplicaLaunch, RouterLaunch } from "../contract/wire/launch.ts";
import type { Command } from "../node/agent/child.ts";
import { cacheDir } from "./cache-dir.ts";

/**
 * MiB of the young generation's halves, of 16 by default: controller and replicas hold 14 to 29 MiB less each. A request
 * costs an ONNX replica 21 to 24 us of CPU both ways.
 */
const YOUNG_HALF_MIB = 4;
/**
 * A router of two threads holds 13 MiB less than with halves of 4. A short request costs the same; with 512 in flight for
 * 100 ms each, one costs 5 % more than with 4, and 18 % more than with 16.
 */
const ROUTER_YOUNG_HALF_MIB = 2;

/**
 * A router's scavenges take 0.15 ms each by themselves. The helpers that V8 wakes for each cost a request 2 to 4 % of its
 * CPU, and where all cores are busy it waits for them: 2 to 25 ms at a load of 9 on 2 cores.
 */
const ROUTER_FLAGS = ["--no-parallel-scavenge"];
/** By default the C library keeps what was freed apart for each thread, of which a router has a dozen: in one place for all it holds 11 MiB less, at the same CPU per request. */
const ROUTER_ENV = { MALLOC_ARENA_MAX: "1" };

const SCRIPTS = { controller: "controller.ts", router: "router.ts", keeper: "keeper.ts" } as const;
const LAUNCH_KEYS = { controller: ENV.controllerLaunch, router: ENV.routerLaunch, keeper: ENV.replicaLaunch } as const;

/** Kinds of processes that an agent starts. */
export type NodeProcess = keyof typeof SCRIPTS;

/** Node's flags and environment for a process of a region. */
export function nodeSettings(name: NodeProcess): Pick<Command, "args" | "env"> {
  return {
    args: [
      `--max-semi-space-size=${name === "router" ? ROUTER_YOUNG_HALF_MIB : YOUNG_HALF_MIB}`,
      ...(name === "router" ? ROUTER_FLAGS : []),
      "--import",
      join(import.meta.dirname, "keep-compiled.ts"),
    ],
    // Compiled code is kept on disk: a killed router, and a replica that is woken, start in a third of the time.
    env: { NODE_COMPILE_CACHE: join(cacheDir(), "compiled"), ...(name === "router" ? ROUTER_ENV : {}) },
  };
}

/** One of the processes beside this file, under the Node that runs this one. */
export function nodeCommand(name: NodeProcess, launch: ControllerLaunch | RouterLaunch | ReplicaLaunch): Command {
  const { args, env } = nodeSettings(name);
  return {
    program: process.execPath,
    args: [...args, join(import.meta.dirname, SCRIPTS[name])],
    // The admin key that `penstock up` may hold is nothing for a model to read.
    env: { ...process.env, ...env, PENSTOCK_KEY: undefined, [LAUNCH_KEYS[name]]: JSON.stringify(launch) },
  };
}
