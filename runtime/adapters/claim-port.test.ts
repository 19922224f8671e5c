import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import type { UserError } from "../core/errors.ts";
import { claimPort } from "./claim-port.ts";

async function errorOf(work: Promise<unknown>): Promise<UserError> {
  return work.then(
    () => {
      throw new Error("no error");
    },
    (error: UserError) => error,
  );
}

test("a port that another program listens on is refused, naming that program", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const error = await errorOf(claimPort("127.0.0.1", port));
  expect(error.code).toBe("PENSTOCK_PORT_IN_USE");
  expect(error.message).toContain(`Port ${port} of 127.0.0.1 is in use by process ${process.pid} (`);
  other.close();
});

test("port 0 gives a free one", async () => {
  const port = await claimPort("127.0.0.1", 0);
  expect(await claimPort("127.0.0.1", port)).toBe(port);
});

test("a port of an address that this machine has not is refused", async () => {
  // 192.0.2.0/24 is set aside for documentation (RFC 5737): no machine has it.
  expect((await errorOf(claimPort("192.0.2.1", 0))).code).toBe("PENSTOCK_HOST_UNUSABLE");
});
