import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { HEADERS } from "../contract/names.ts";
import type { Address } from "../domain/replica.ts";
import type { Engine, ServingAnswer, ServingRequest } from "./contract.ts";
import { ReplicaCounters, readCounts } from "./replica-counters.ts";
import { ReplicaServer } from "./replica-server.ts";

const CLASSES = ["infer"];
let server: ReplicaServer;
let counters: ReplicaCounters;

async function serve(
  handle: (request: ServingRequest) => ServingAnswer | Promise<ServingAnswer>,
  maxInFlight: number | null = null,
): Promise<Address> {
  counters = new ReplicaCounters(CLASSES, () => performance.now());
  const engine: Engine = {
    probes: { warmUps: [], canaries: [] },
    maxInFlight: null,
    route: (_method, path) => (path === "/infer" ? { requestClass: "infer", handle } : null),
    refreshGauges: () => {},
    close: async () => {},
  };
  server = new ReplicaServer({ engine, counters, maxInFlight, probeSecret: "secret", onFault: () => {} });
  return server.listen("127.0.0.1");
}

function send(address: Address, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://${address.host}:${address.port}/infer`, { method: "POST", body: "x", headers });
}

const counts = () => readCounts([new Float64Array(counters.shared)], CLASSES).classes[0]!;
const ok = (body: ServingAnswer["body"]): ServingAnswer => ({ status: 200, headers: {}, body });

afterEach(() => server.drain());

test("at the cap the answer is a refusal before the body has come, and the keeper's probe still passes", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const address = await serve(async (incoming) => {
    if (!incoming.probe) await held;
    return ok("done");
  }, 1);
  const first = send(address);
  await expect.poll(() => counts().startedTotal).toBe(1);

  const refused = await new Promise<{ status: number | undefined; refused: unknown }>((resolve, reject) => {
    // Its body never comes: the answer must not wait for it.
    const outgoing = request({ ...address, path: "/infer", method: "POST", headers: { "content-length": 10 } });
    outgoing.on("response", ({ statusCode, headers }) => {
      resolve({ status: statusCode, refused: headers[HEADERS.refused] });
      outgoing.destroy();
    });
    outgoing.on("error", reject);
    outgoing.flushHeaders();
  });
  expect(refused).toEqual({ status: 503, refused: "1" });
  expect(await (await send(address, { [HEADERS.probe]: "secret" })).text()).toBe("done");
  expect((await send(address, { [HEADERS.probe]: "guess" })).status).toBe(503);

  release();
  expect(await (await first).text()).toBe("done");
  expect(counts()).toMatchObject({ startedTotal: 1, finishedTotal: 1, progressTotal: 1 });
});

test("an engine that throws is a 500 and a counted failure, and the next request is served", async () => {
  let fail = true;
  const address = await serve(() => {
    if (fail) throw new Error("boom");
    return ok("fine");
  });
  expect((await send(address)).status).toBe(500);
  fail = false;
  expect(await (await send(address)).text()).toBe("fine");
  await expect.poll(() => counts()).toMatchObject({ finishedTotal: 2, failedTotal: 1 });
});

test("a client that goes away mid-stream is told to the engine and leaves nothing in flight", async () => {
  let gone = (): void => {};
  const wasGone = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const address = await serve((incoming) => {
    const forever = async function* (): AsyncGenerator<string> {
      let ended = false;
      incoming.onClientGone(() => {
        ended = true;
        gone();
      });
      while (!ended) {
        yield "piece\n";
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    return ok(forever());
  });
  const socket = connect(address);
  socket.write("POST /infer HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
  await new Promise((resolve) => socket.once("data", resolve));
  socket.destroy();
  await wasGone;
  await expect.poll(() => counters.inFlight()).toBe(0);
});

test("drain lets a request in flight finish and then resolves, with idle connections open or not", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let calls = 0;
  const address = await serve(async () => {
    if (++calls > 1) await held;
    return ok("done");
  });
  await (await send(address)).text();
  const last = send(address);
  await expect.poll(() => calls).toBe(2);
  const drained = server.drain();
  release();
  expect(await (await last).text()).toBe("done");
  await drained;
  await expect(send(address)).rejects.toThrow();
});
