import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { RequestSpan } from "../../ports/tap.ts";
import { createSpanTap } from "./span-tap.ts";

const options = { serviceName: "penstock-router", wallOffsetMs: () => 1_700_000_000_000 };

const span: RequestSpan = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentSpanId: "00f067aa0ba902b7",
  requestId: "req-1",
  endpoint: "iris",
  version: "iris-aaaaaaaaaa",
  replica: "iris-aaaaaaaaaa-0",
  status: 200,
  outcome: "completed",
  attempts: 1,
  arrivedAtMs: 1_000,
  firstByteAtMs: 1_002,
  endedAtMs: 1_005.5,
};

/** A collector that keeps what is posted to it. */
async function collector() {
  const received: { path: string; type: string; body: Buffer }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    received.push({
      path: request.url ?? "",
      type: request.headers["content-type"] ?? "",
      body: Buffer.concat(chunks),
    });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, received, close: () => server.close() };
}

test("a finished request reaches the collector as a span with the router's own ids and wall times", async () => {
  const { url, received, close } = await collector();
  const tap = await createSpanTap({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/` }, options);
  tap?.requestEnded(span);
  await tap?.close();
  close();
  expect(received).toMatchObject([{ path: "/v1/traces", type: "application/x-protobuf" }]);
  const body = received[0]?.body ?? Buffer.alloc(0);
  for (const id of [span.traceId, span.spanId, span.parentSpanId ?? ""])
    expect(body.includes(Buffer.from(id, "hex"))).toBe(true);
  for (const text of ["penstock-router", "serve iris", "iris-aaaaaaaaaa-0", "first byte"])
    expect(body.includes(text)).toBe(true);
  // Start in nanoseconds as a little-endian fixed64, as OTLP has it: offset + 1 s.
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(1_700_000_001_000_000_000n);
  expect(body.includes(start)).toBe(true);
});

test("without the variables, or where they turn it off, there is no tap", async () => {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
  expect(await createSpanTap({}, options)).toBeNull();
  expect(await createSpanTap({ ...on, OTEL_SDK_DISABLED: "true" }, options)).toBeNull();
  expect(await createSpanTap({ ...on, OTEL_TRACES_EXPORTER: "none" }, options)).toBeNull();
});

test("a protocol that is not spoken is refused with what to set", async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  await expect(createSpanTap(env, options)).rejects.toMatchObject({ code: "PENSTOCK_OTLP_PROTOCOL" });
});
