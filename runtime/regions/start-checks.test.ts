import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../adapters/log.ts";
import type { UserError } from "../core/errors.ts";
import { startLocalRegion } from "./local.ts";
import { makeSocketPaths } from "./socket-paths.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-start-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function errorOf(work: Promise<unknown>): Promise<UserError> {
  return work.then(
    () => {
      throw new Error("no error");
    },
    (error: UserError) => error,
  );
}

describe("sockets", () => {
  test("lie in the data folder, which only its user may enter", () => {
    const paths = makeSocketPaths(folder);
    expect(paths.api).toBe(join(folder, "run", "api.sock"));
    expect(statSync(join(folder, "run")).mode & 0o777).toBe(0o700);
  });
  test("lie in a short folder of their own where the data folder's path is too long for a socket", () => {
    const long = join(folder, "x".repeat(120));
    const paths = makeSocketPaths(long, folder);
    expect(Buffer.byteLength(paths.controller)).toBeLessThan(104);
    expect(makeSocketPaths(long, folder)).toEqual(paths);
    expect(makeSocketPaths(`${long}y`, folder)).not.toEqual(paths);
  });
});

test("a region that others could reach is refused without an admin key, before anything starts", async () => {
  const configFile = join(folder, "r.yaml");
  writeFileSync(configFile, "host: 0.0.0.0\n");
  const log = createLog({ level: "error", human: false });
  const error = await errorOf(
    startLocalRegion({ configFile, host: null, port: 0, shadows: [], dataDir: join(folder, "data"), log }),
  );
  expect(error.code).toBe("PENSTOCK_KEYS_NEEDED");
});
