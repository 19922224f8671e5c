import type { Server } from "node:http";
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keyHashOf } from "../../domain/names.ts";
import { aReport, aRollout, aSpec, aVersion } from "../testing/facts.ts";
import { FakeClock, FakeRegion } from "../testing/fake-region.ts";
import { type Api, createApi } from "./app.ts";
import { serveApi } from "./serve.ts";

let clock: FakeClock;
let region: FakeRegion;
let api: Api;
let server: Server;

beforeEach(async () => {
  clock = new FakeClock();
  region = new FakeRegion(clock);
  api = createApi(region);
  server = await serveApi(api.app, { host: "127.0.0.1", port: 0 });
});

afterEach(() => {
  api.close();
  server.closeAllConnections();
  server.close();
});

/** A request with node:http, which lets a test set Host and Origin as a browser would. */
function send(method: string, path: string, headers: Record<string, string> = {}, body = "") {
  const { port } = server.address() as AddressInfo;
  return new Promise<{ status: number; body: { code: string; key: string; keys: { name: string }[] } }>((resolve) => {
    const call = request(
      { port, method, path, headers: { "content-type": "application/json", ...headers } },
      (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, body: text === "" ? null : JSON.parse(text) }),
        );
      },
    );
    call.end(body);
  });
}

/** A stream of server-sent events, read event by event. */
async function openStream(path: string) {
  const { port } = server.address() as AddressInfo;
  const stop = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: stop.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  const next = async (): Promise<{ event: string; data: { name: string; status: { word: string }; line: string } }> => {
    for (;;) {
      const cut = text.indexOf("\n\n");
      if (cut < 0) {
        text += decoder.decode((await reader.read()).value, { stream: true });
        continue;
      }
      const block = text.slice(0, cut);
      text = text.slice(cut + 2);
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) return { event: /^event: (.*)$/m.exec(block)?.[1] ?? "", data: JSON.parse(data) };
    }
  };
  return { next, stop: () => stop.abort() };
}

test("where keys are required only an admin key opens the API", async () => {
  region.keysRequired = true;
  region.applyKeys([
    { hash: keyHashOf("secret"), name: "root", endpoints: null, admin: true },
    { hash: keyHashOf("caller"), name: "app", endpoints: null, admin: false },
  ]);
  const call = (key?: string) =>
    send("GET", "/api/v1/region", key === undefined ? {} : { authorization: `Bearer ${key}` });
  expect((await call()).body.code).toBe("PENSTOCK_KEY_MISSING");
  expect((await call("wrong")).body.code).toBe("PENSTOCK_KEY_UNKNOWN");
  expect((await call("caller")).body.code).toBe("PENSTOCK_KEY_NOT_ADMIN");
  expect((await call("secret")).status).toBe(200);
});

test("a region without keys refuses a page of another site and a name bound to loopback from outside", async () => {
  expect((await send("POST", "/api/v1/keys", { origin: "https://evil.example" })).body.code).toBe(
    "PENSTOCK_FOREIGN_ORIGIN",
  );
  expect((await send("GET", "/api/v1/region", { host: "evil.example:8080" })).body.code).toBe(
    "PENSTOCK_FOREIGN_ORIGIN",
  );
  const own = { host: "localhost:8080", origin: "http://localhost:8080" };
  expect((await send("GET", "/api/v1/region", own)).status).toBe(200);
});

test("a created key is answered once and stored as its hash only", async () => {
  const created = await send("POST", "/api/v1/keys", {}, JSON.stringify({ name: "app", admin: true }));
  expect(created.status).toBe(201);
  const stored = region.board.get("keys", "region");
  expect(stored).toMatchObject({ value: { keys: [{ name: "app", hash: keyHashOf(created.body.key), admin: true }] } });
  expect(JSON.stringify(stored)).not.toContain(created.body.key);
  const listed = await send("GET", "/api/v1/keys");
  expect(listed.body.keys).toEqual([{ name: "app", endpoints: null, admin: true }]);
  expect((await send("POST", "/api/v1/keys", {}, JSON.stringify({ name: "app" }))).body.code).toBe(
    "PENSTOCK_KEY_EXISTS",
  );
});

test("the last admin key of a region that requires keys can't be removed", async () => {
  region.keysRequired = true;
  region.applyKeys([{ hash: keyHashOf("secret"), name: "root", endpoints: null, admin: true }]);
  const headers = { authorization: "Bearer secret" };
  expect((await send("DELETE", "/api/v1/keys/root", headers)).body.code).toBe("PENSTOCK_LAST_ADMIN_KEY");
  expect((await send("DELETE", "/api/v1/keys/none", headers)).body.code).toBe("PENSTOCK_NO_SUCH_KEY");
});

test("a body that is not sent as JSON, or is over 1 MiB, is refused before it is looked at", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  expect((await send("POST", "/api/v1/keys", form, "name=app")).status).toBe(415);
  expect((await send("POST", "/api/v1/keys", {}, JSON.stringify({ name: "x".repeat(2 ** 20) }))).status).toBe(413);
});

test("the event stream tells the present state at once, then each change, then the removal", async () => {
  region.applySpec(aSpec());
  const stream = await openStream("/api/v1/events?endpoint=iris");
  expect(await stream.next()).toMatchObject({ event: "endpoint", data: { status: { word: "preparing" } } });
  region.board.put("rollout", "iris", aRollout());
  region.board.put("replica", `${aVersion().id}-0`, aReport());
  clock.advance(200);
  expect(await stream.next()).toMatchObject({ event: "endpoint", data: { status: { word: "ready" } } });
  region.removeEndpoint("iris");
  clock.advance(200);
  expect(await stream.next()).toEqual({ event: "removed", data: { name: "iris" } });
  stream.stop();
});

test("the event stream of an endpoint that is not there says so at once, and tells when it comes", async () => {
  const stream = await openStream("/api/v1/events?endpoint=iris");
  expect(await stream.next()).toEqual({ event: "removed", data: { name: "iris" } });
  region.applySpec(aSpec());
  clock.advance(200);
  expect(await stream.next()).toMatchObject({ event: "endpoint", data: { name: "iris" } });
  stream.stop();
});

test("a change of another endpoint, or one that alters nothing seen, sends no event", async () => {
  region.applySpec(aSpec());
  const stream = await openStream("/api/v1/events?endpoint=iris");
  await stream.next();
  region.applySpec(aSpec({ name: "other" }));
  region.board.put("machine", "here", { cpuCount: 2, memoryBytes: 1, memoryAvailableBytes: 1, bootId: "b" });
  clock.advance(1_000);
  region.applySpec({ ...aSpec(), generation: 2 });
  clock.advance(200);
  expect(await stream.next()).toMatchObject({ data: { name: "iris", spec: { generation: 2 } } });
  stream.stop();
});

test("following logs gives the tail, then each new line of the endpoint asked for", async () => {
  region.applySpec(aSpec());
  region.logs.add(`${aVersion().id}-0`, ["old"], clock.wallMs());
  const stream = await openStream("/api/v1/logs/follow?endpoint=iris");
  expect((await stream.next()).data.line).toBe("old");
  region.logs.add("router", ["not of iris"], clock.wallMs());
  region.logs.add(`${aVersion().id}-0`, ["new"], clock.wallMs());
  expect((await stream.next()).data.line).toBe("new");
  stream.stop();
});
