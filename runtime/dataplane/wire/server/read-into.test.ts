import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { readInto } from "./read-into.ts";

test("what is read comes in the given buffer, and the server counts the socket until it ends", async () => {
  const buffer = Buffer.allocUnsafe(64);
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [accepted] = (await once(server, "connection")) as [Socket];
  const heard = new Promise<number>((resolve) => {
    const socket = readInto(buffer, accepted, resolve);
    socket.once("end", () => socket.destroy());
    socket.resume();
  });
  client.end("hello");
  expect(buffer.toString("utf8", 0, await heard)).toBe("hello");
  await once(client, "close");
  // It calls back only when no connection is counted any more.
  await new Promise((resolve) => server.close(resolve));
  expect(await new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0);
});
