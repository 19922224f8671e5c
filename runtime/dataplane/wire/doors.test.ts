import OpenAI from "openai";
import { afterEach, expect, test } from "vitest";
import { keyHashOf } from "../../domain/names.ts";
import { closeAll, endpointOf, httpReplica, rawClient, snapshotOf, startTestRouter, versionOf } from "./fixture.ts";

afterEach(closeAll);

interface Answer {
  readonly status: number;
  readonly headers: string;
  readonly body: unknown;
}

async function ask(port: number, method: string, path: string, body = "", headers = ""): Promise<Answer> {
  const length = method === "POST" ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : "";
  const text = await rawClient(
    port,
    `${method} ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}${length}\r\n${body}`,
  ).closed;
  const split = text.indexOf("\r\n\r\n");
  const answered = text.slice(split + 4);
  return {
    status: Number(text.slice(9, 12)),
    headers: text.slice(0, split).toLowerCase(),
    body: answered.startsWith("{") || answered.startsWith("[") ? JSON.parse(answered) : answered,
  };
}

const okReplica = () =>
  httpReplica((incoming, answer) => {
    incoming.resume();
    incoming.on("end", () => answer.end(`served ${incoming.url}`));
  });

async function twoEndpoints(keys: Parameters<typeof snapshotOf>[2] = {}): Promise<number> {
  const port = await okReplica();
  const chat = endpointOf({ name: "chat", doors: ["openai"], split: [{ version: "chat-1", weight: 100 }] });
  const iris = endpointOf({ doors: ["mlflow", "kserve"] });
  const versions = [versionOf([port]), { ...versionOf([port]), id: "chat-1", endpoint: "chat" }];
  return (await startTestRouter(snapshotOf([iris, chat], versions, keys))).port;
}

test("each door tells of an unknown endpoint in its own shape, and names those there are", async () => {
  const port = await twoEndpoints();
  const known = expect.stringContaining("there are: chat, iris");
  expect(await ask(port, "POST", "/v1/chat/completions", '{"model":"nope"}')).toMatchObject({
    status: 404,
    body: {
      error: { message: known, type: "invalid_request_error", param: "model", code: "PENSTOCK_UNKNOWN_ENDPOINT" },
    },
  });
  expect(await ask(port, "POST", "/serving-endpoints/nope/invocations", "{}")).toMatchObject({
    status: 404,
    body: { error_code: "RESOURCE_DOES_NOT_EXIST", message: known },
  });
  expect(await ask(port, "POST", "/v2/models/nope/infer", "{}")).toMatchObject({ status: 404, body: { error: known } });
  expect(await ask(port, "GET", "/endpoints/nope/x")).toMatchObject({
    status: 404,
    body: { error: { code: "PENSTOCK_UNKNOWN_ENDPOINT", message: known } },
  });
});

test("the wrong door says which ones the endpoint has", async () => {
  const port = await twoEndpoints();
  const wrong = await ask(port, "POST", "/v1/chat/completions", '{"model":"iris"}');
  expect(wrong.status).toBe(400);
  expect(wrong.body).toMatchObject({
    error: {
      code: "PENSTOCK_WRONG_DOOR",
      message: expect.stringContaining("POST /serving-endpoints/iris/invocations or POST /v2/models/iris/infer"),
    },
  });
});

test.each([
  ['{"messages":[{"role":"user","content":"prompt"}]}', "/v1/chat/completions"],
  ['{"max_tokens":3,"prompt":"messages"}', "/v1/completions"],
  [`{"dimensions":{"messages":1},"input":"${"x".repeat(9_000)}"}`, "/v1/embeddings"],
])("a language model answers by MLflow's paths what its body asks for: %.40s", async (body, path) => {
  const port = await twoEndpoints();
  expect((await ask(port, "POST", "/serving-endpoints/chat/invocations", body)).body).toBe(`served ${path}`);
  expect((await ask(port, "POST", "/endpoints/chat/invocations", body)).body).toBe(`served ${path}`);
});

test("a language model asked by MLflow's paths for something else says what it takes, in MLflow's shape", async () => {
  const port = await twoEndpoints();
  const refused = (message: string) => ({
    status: 400,
    body: { error_code: "BAD_REQUEST", message: expect.stringContaining(message) },
  });
  const invoke = (body: string) => ask(port, "POST", "/serving-endpoints/chat/invocations", body);
  expect(await invoke('{"inputs":[[1]]}')).toMatchObject(
    refused('"messages" (chat), "prompt" (completion) or "input"'),
  );
  expect(await invoke('{"messages"')).toMatchObject(refused("the body is not complete JSON"));
  expect((await ask(port, "GET", "/serving-endpoints/chat/invocations")).status).toBe(405);
});

test("/invocations goes to the only endpoint that answers it, or to the one a header names", async () => {
  const port = await twoEndpoints();
  expect((await ask(port, "POST", "/invocations", "{}")).body).toBe("served /invocations");
  expect((await ask(port, "POST", "/invocations", "{}", "X-Penstock-Endpoint: nope\r\n")).status).toBe(404);
});

test("bodies that name no model are told what is missing", async () => {
  const port = await twoEndpoints();
  for (const body of ["", "[]", '{"model":7}', '{"messages":[]}', '{"messages":[']) {
    expect(await ask(port, "POST", "/v1/chat/completions", body)).toMatchObject({
      status: 400,
      body: { error: { code: "PENSTOCK_BAD_BODY", type: "invalid_request_error" } },
    });
  }
  expect((await ask(port, "GET", "/v1/chat/completions")).status).toBe(405);
});

test("every answer carries a request id, the client's own where it is fit to be sent", async () => {
  const port = await twoEndpoints();
  expect((await ask(port, "GET", "/healthz", "", "X-Request-Id: mine-1\r\n")).headers).toContain(
    "x-request-id: mine-1\r\n",
  );
  expect((await ask(port, "GET", "/nowhere", "", "X-Request-Id: not fit\r\n")).headers).toMatch(/x-request-id: req-/);
  const served = await ask(port, "POST", "/invocations", "{}", "X-Request-Id: mine-2\r\n");
  expect(served.headers).toContain("x-request-id: mine-2");
});

test("refuses CONNECT and WebSocket, ignores an offer of h2c, knows only one expectation", async () => {
  const port = await twoEndpoints();
  expect((await ask(port, "CONNECT", "h:80")).status).toBe(405);
  expect((await ask(port, "GET", "/endpoints/iris/x", "", "Upgrade: websocket\r\n")).status).toBe(501);
  expect((await ask(port, "POST", "/invocations", "{}", "Upgrade: h2c\r\nHTTP2-Settings: AAA\r\n")).status).toBe(200);
  expect((await ask(port, "POST", "/invocations", "{}", "Expect: magic\r\n")).status).toBe(417);
});

test("an endpoint with a problem says it at once", async () => {
  const problem = "the model file is not there; deploy again with a path that exists";
  const router = await startTestRouter(snapshotOf([endpointOf({ problem })], [versionOf([])]));
  const answer = await ask(router.port, "POST", "/v2/models/iris/infer", "{}");
  expect(answer).toMatchObject({ status: 503, body: { error: problem } });
  expect(answer.headers).toMatch(/retry-after: \d/);
  expect((await ask(router.port, "GET", "/v2/models/iris/ready")).status).toBe(503);
});

test("keys open what they name, and lists show no more than that", async () => {
  const keys = [
    { hash: keyHashOf("all"), name: "all", endpoints: null, admin: true },
    { hash: keyHashOf("one"), name: "one", endpoints: ["iris"], admin: false },
  ];
  const port = await twoEndpoints({ keysRequired: true, keys });
  const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`;
  expect((await ask(port, "POST", "/invocations", "{}")).status).toBe(401);
  expect((await ask(port, "POST", "/invocations", "{}", bearer("wrong"))).status).toBe(401);
  expect((await ask(port, "POST", "/invocations", "{}", bearer("one"))).status).toBe(200);
  expect((await ask(port, "POST", "/invocations", "{}", "X-Api-Key: one\r\n")).status).toBe(200);
  expect((await ask(port, "POST", "/v1/chat/completions", '{"model":"chat"}', bearer("one"))).status).toBe(403);
  expect((await ask(port, "POST", "/v1/chat/completions", '{"model":"chat"}', bearer("all"))).status).toBe(200);
  expect((await ask(port, "GET", "/v1/models", "", bearer("one"))).body).toMatchObject({ data: [] });
  expect((await ask(port, "GET", "/v1/models")).status).toBe(401);
  expect((await ask(port, "GET", "/v2/health/live")).status).toBe(200);
});

test("lists endpoints as MLflow's two deployments clients read them", async () => {
  const port = await twoEndpoints();
  expect((await ask(port, "GET", "/api/2.0/endpoints/")).body).toMatchObject({
    endpoints: [
      { name: "chat", endpoint_type: "llm/v1/chat", endpoint_url: "/endpoints/chat/invocations" },
      { name: "iris", endpoint_type: "model/v1/invocations" },
    ],
    next_page_token: null,
  });
  expect((await ask(port, "GET", "/api/2.0/serving-endpoints/iris")).body).toMatchObject({
    name: "iris",
    state: { ready: "READY" },
    config: { traffic_config: { routes: [{ served_model_name: "iris-1", traffic_percentage: 100 }] } },
  });
});

test("the openai client reads our answers, streams and errors as its own", async () => {
  const port = await httpReplica((incoming, answer) => {
    incoming.resume();
    incoming.on("end", () => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      answer.write('data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n');
      setTimeout(() => answer.destroy(), 5);
    });
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${router.port}/v1`, apiKey: "none", maxRetries: 0 });
  expect((await client.models.list()).data.map((model) => model.id)).toEqual(["iris"]);
  const messages = [{ role: "user" as const, content: "hi" }];
  await expect(client.chat.completions.create({ model: "nope", messages })).rejects.toMatchObject({
    status: 404,
    code: "PENSTOCK_UNKNOWN_ENDPOINT",
  });
  const stream = await client.chat.completions.create({ model: "iris", messages, stream: true });
  const seen: unknown[] = [];
  await expect(
    (async () => {
      for await (const part of stream) seen.push(part.choices[0]?.delta.content);
    })(),
  ).rejects.toMatchObject({ code: "PENSTOCK_ANSWER_CUT" });
  expect(seen).toEqual(["Hello"]);
});
