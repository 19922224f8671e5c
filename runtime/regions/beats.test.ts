import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ENV } from "../contract/names.ts";
import type { ControllerLaunch, RouterLaunch } from "../contract/wire/launch.ts";

let folder: string;
let service: ChildProcess | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-beats-"));
  writeFileSync(join(folder, "region.yaml"), "endpoints: []");
});

afterEach(() => {
  service?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** The first signs of life of a service, as its agent gets them. */
async function signsOf(script: string, key: string, launch: ControllerLaunch | RouterLaunch): Promise<string[]> {
  service = spawn(process.execPath, [join(import.meta.dirname, script)], {
    env: { ...process.env, [key]: JSON.stringify(launch) },
    stdio: ["pipe", "ignore", "inherit", "pipe"],
  });
  const signs: string[] = [];
  for await (const line of createInterface({ input: service.stdio[3] as Readable })) {
    if (signs.push(line) === 2) break;
  }
  return signs;
}

// The agent takes 15 silent seconds of a process that has spoken for a hang: a service that never speaks is never found hung.
test("a controller tells its agent again and again that it lives", async () => {
  const launch: ControllerLaunch = {
    region: "beats",
    dataDir: folder,
    controllerSocket: join(folder, "c.sock"),
    apiSocket: join(folder, "a.sock"),
    baseUrl: "http://127.0.0.1:1",
    regionFile: join(folder, "region.yaml"),
    keysRequired: false,
    shadows: [],
  };
  expect(await signsOf("controller.ts", ENV.controllerLaunch, launch)).toEqual(["ready", "ready"]);
});

test("a router tells its agent again and again that it lives", async () => {
  const launch: RouterLaunch = {
    name: "router",
    epoch: 1,
    host: "127.0.0.1",
    port: 0,
    threads: 1,
    controllerSocket: join(folder, "c.sock"),
    apiSocket: join(folder, "a.sock"),
    snapshotFile: join(folder, "snapshot.json"),
  };
  expect(await signsOf("router.ts", ENV.routerLaunch, launch)).toEqual(["ready", "ready"]);
});
