import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DOORS_OF_RUNTIME } from "../runtime/domain/version.ts";
import { callLine } from "./call-line.ts";
import { RegionClient } from "./client.ts";

// What stands behind an endpoint answers everything with a text of its own, as a server of one's own may.
let server: Server;
let region: RegionClient;
let asked: string[];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("hello");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  region = new RegionClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: null });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const scale = { wanted: 1, granted: 1, ready: 1, existing: 1 };

test("a server of one's own is not asked what it takes, and the line calls its own path", async () => {
  const line = await callLine(region, { name: "own", doors: DOORS_OF_RUNTIME.custom, scale });
  expect([line, asked]).toEqual([`curl ${region.url}/endpoints/own/`, []]);
});

test("a model whose metadata is no JSON still gets a line: the one that asks it", async () => {
  const line = await callLine(region, { name: "iris", doors: DOORS_OF_RUNTIME.onnx, scale });
  expect([line, asked]).toEqual([`curl ${region.url}/v2/models/iris`, ["/v2/models/iris"]]);
});
