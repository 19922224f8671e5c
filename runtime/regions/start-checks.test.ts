import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../adapters/log.ts";
import type { UserError } from "../core/errors.ts";
import { startLocalRegion } from "./local.ts";
import { claimPort } from "./port-check.ts";
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

describe("the port", () => {
  test("that another program listens on is refused, naming that program", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const error = await errorOf(claimPort("127.0.0.1", port));
    expect(error.code).toBe("PENSTOCK_PORT_IN_USE");
    expect(error.message).toContain(`Port ${port} of 127.0.0.1 is in use by process ${process.pid} (`);
    other.close();
  });
  test("0 gives a free one", async () => {
    const port = await claimPort("127.0.0.1", 0);
    expect(await claimPort("127.0.0.1", port)).toBe(port);
  });
  test("of an address that this machine has not is refused", async () => {
    // 192.0.2.0/24 is set aside for documentation (RFC 5737): no machine has it.
    expect((await errorOf(claimPort("192.0.2.1", 0))).code).toBe("PENSTOCK_HOST_UNUSABLE");
  });
});

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
