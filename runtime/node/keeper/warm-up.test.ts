import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { ProbeRequest } from "../../serving/contract.ts";
import { ProbeClient } from "./probe-client.ts";
import { type ProbedReplica, probeConcurrency, warmUp } from "./warm-up.ts";

const PROBE: ProbeRequest = { requestClass: "infer", method: "POST", path: "/", headers: {}, body: "{}" };
const QUIET: ProbedReplica = { serviceMs: 1, limit: null, clientsInFlight: () => 0, mayGoOn: () => true };

let server: Server;
let client: ProbeClient;
let asked = 0;

async function serve(answer: RequestListener): Promise<void> {
  asked = 0;
  server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = new ProbeClient({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }, "secret");
}

afterEach(async () => {
  client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("a model that refuses its own input example is given up with what a person can do at a first deploy", async () => {
  await serve((_request, response) => response.writeHead(400).end("bad shape"));
  await expect(warmUp(client, [PROBE])).rejects.toMatchObject({
    code: "PENSTOCK_WARMUP_FAILED",
    message: expect.stringContaining("400: bad shape"),
    todo: expect.stringMatching(/^run the model on its input example yourself/),
  });
  expect(asked).toBe(3);
});

test("input that was made up may be refused: the model is then ready without a measured time", async () => {
  await serve((_request, response) => response.writeHead(400).end());
  expect(await warmUp(client, [{ ...PROBE, madeUp: true }])).toEqual({});
});

test("the probe has no more requests in flight than the replica takes, and finds no knee above that", async () => {
  let inside = 0;
  let most = 0;
  await serve((_request, response) => {
    most = Math.max(most, ++inside);
    response.on("finish", () => inside--);
    setImmediate(() => response.end());
  });
  // Null: a machine so busy that one step took the whole time.
  const knee = await probeConcurrency(client, PROBE, { ...QUIET, limit: 2 });
  expect(knee ?? 1).toBeLessThanOrEqual(2);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2);
});

test("while clients' requests are in flight the probe sends nothing, and says nothing of the knee", async () => {
  await serve((_request, response) => response.end());
  expect(await probeConcurrency(client, PROBE, { ...QUIET, clientsInFlight: () => 1 })).toBeNull();
  expect(asked).toBe(0);
});

test("the probe ends with the replica's readiness, and a lost connection is no error of it", async () => {
  await serve((request) => request.socket.destroy());
  expect(await probeConcurrency(client, PROBE, QUIET)).toBeNull();
  expect(asked).toBe(1);
  expect(await probeConcurrency(client, PROBE, { ...QUIET, mayGoOn: () => false })).toBeNull();
  expect(asked).toBe(1);
});
