import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReplicaView } from "../../runtime/operate/views/replica-view.ts";
import { findTestModel } from "../../runtime/serving/gguf/test-model.ts";
import { TestRegion, until } from "./region.ts";
import { HOW_TO_GET } from "./tools.ts";

const gguf = findTestModel();
const MISSING = gguf === null ? ` (skipped: ${HOW_TO_GET})` : "";
const IRIS = join(import.meta.dirname, "..", "..", "examples", "iris", "iris.onnx");
const MAX_BODY_BYTES = 10_000;
const SETOSA = { inputs: [[5.1, 3.5, 1.4, 0.2]] };
const CHAT = { model: "smollm2", messages: [{ role: "user", content: "Count to one thousand." }] };

const INVOKE = "/serving-endpoints/iris/invocations";
const INFER = "/v2/models/iris/infer";
const tensor = (change: object): object => ({
  inputs: [{ name: "features", shape: [1, 4], datatype: "FP32", data: [5.1, 3.5, 1.4, 0.2], ...change }],
});

describe.skipIf(MISSING !== "")(`bad requests to a region${MISSING}`, () => {
  let region: TestRegion;
  beforeAll(async () => {
    const endpoints = [
      { name: "iris", model: IRIS, concurrency: { min: 1, max: 8 }, maxBodyBytes: MAX_BODY_BYTES },
      { name: "smollm2", model: gguf, run: { contextTokens: 2_048 }, concurrency: { min: 1, max: 8 } },
    ];
    region = await TestRegion.start({ file: { endpoints } });
  });
  afterAll(() => region?.end());

  // Each: what is wrong, where it is sent, the body, the status, and what the error must tell in its door's own shape.
  test.each([
    [
      "an unknown endpoint (MLflow)",
      "/serving-endpoints/nobody/invocations",
      SETOSA,
      404,
      mlflow(/"nobody".*iris, smollm2/),
    ],
    [
      "an unknown endpoint (OpenAI)",
      "/v1/chat/completions",
      { ...CHAT, model: "nobody" },
      404,
      openai(/"nobody".*iris, smollm2/),
    ],
    ["an unknown endpoint (KServe)", "/v2/models/nobody/infer", tensor({}), 404, kserve(/"nobody".*iris, smollm2/)],
    ["an unknown path", "/serving-endpoints/iris/invoke", SETOSA, 404, mlflow(/invoke/)],
    [
      "the wrong door to a classifier",
      "/v1/chat/completions",
      { ...CHAT, model: "iris" },
      400,
      openai(/iris\/invocations/),
    ],
    ["the wrong door to a chat model", "/v2/models/smollm2/infer", tensor({}), 400, kserve(/v1\/chat\/completions/)],
    ["malformed JSON (MLflow)", INVOKE, '{"inputs": [[5.1', 400, mlflow(/JSON/)],
    ["malformed JSON (OpenAI)", "/v1/chat/completions", '{"model": "smollm2", "messages": [', 400, openai(/JSON/)],
    ["malformed JSON (KServe)", INFER, "{", 400, kserve(/JSON/)],
    [
      "a body that is no request",
      INVOKE,
      { rows: [] },
      400,
      mlflow(/dataframe_split, dataframe_records, inputs, instances/),
    ],
    ["a row of three numbers for four features", INVOKE, { inputs: [[1, 2, 3]] }, 400, mlflow(/features/)],
    ["text for a number", INVOKE, { inputs: [["red", 1, 2, 3]] }, 400, mlflow(/features/)],
    ["a data frame of three columns", INVOKE, frame(["a", "b", "c"], [1, 2, 3]), 400, mlflow(/4|features/)],
    ["a data frame whose rows are longer than its columns", INVOKE, frame(["a"], [1, 2]), 400, mlflow(/column/)],
    ["a tensor of another name", INFER, tensor({ name: "petals" }), 400, kserve(/petals|features/)],
    ["a tensor of another shape", INFER, tensor({ shape: [1, 5], data: [1, 2, 3, 4, 5] }), 400, kserve(/features/)],
    ["a tensor with less data than its shape", INFER, tensor({ shape: [2, 4] }), 400, kserve(/features/)],
    [
      "a tensor of another type",
      INFER,
      tensor({ datatype: "BYTES", data: ["a", "b", "c", "d"] }),
      400,
      kserve(/features/),
    ],
    ["a chat without messages", "/v1/chat/completions", { model: "smollm2" }, 400, openai(/messages/)],
    ["a chat that is longer than the context", "/v1/chat/completions", longChat(), 400, openai(/context|token/)],
    ["an oversized body", INVOKE, "x".repeat(MAX_BODY_BYTES + 1), 413, mlflow(/10000 bytes/)],
  ])("%s is refused with its reason", async (_, path, body, status, error) => {
    const answer = await region.post(path, body);
    expect({ status: answer.status, body: answer.body }).toEqual({ status, body: error });
    expect(answer.headers.get("x-request-id")).toMatch(/./);
  });

  test("an oversized body that does not tell its length is refused as well", async () => {
    async function* pieces(): AsyncGenerator<Buffer> {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(1_000, " ");
    }
    const response = await region.fetch(INVOKE, { method: "POST", body: pieces(), duplex: "half" } as object);
    expect(response.status).toBe(413);
  });

  test("a client that leaves in the middle of its stream stops the model's work for it", async () => {
    const asked = { ...CHAT, stream: true, max_tokens: 1_500, temperature: 0 };
    const goneBefore = await region.metric("penstock_requests_client_gone_total", 'endpoint="smollm2"');
    const tokensBefore = tokensOf((await region.endpoint("smollm2")).replicas[0]);
    await new Promise<void>((resolve) => {
      const post = request(`${region.url}/v1/chat/completions`, { method: "POST" }, (answer) => {
        answer.once("data", () => {
          post.destroy();
          resolve();
        });
        answer.on("error", () => {});
      });
      post.on("error", () => {});
      post.end(JSON.stringify(asked));
    });
    await until("the client is counted as gone", async () => {
      return (await region.metric("penstock_requests_client_gone_total", 'endpoint="smollm2"')) === goneBefore + 1;
    });
    let made = 0;
    await until("the replica has made tokens and holds no request any more", async () => {
      const [replica] = (await region.endpoint("smollm2")).replicas;
      made = tokensOf(replica) - tokensBefore;
      return made > 0 && replica?.inFlight === 0;
    });
    // The model would have gone on to 1,500 tokens for nobody.
    expect(made).toBeLessThan(1_500);
    await region.whenIdle();
  });

  const tokensOf = (replica: ReplicaView | undefined): number => replica?.engine.tokens_total ?? 0;

  test("after all of them nothing is held, no replica was restarted, and the region serves", async () => {
    await region.whenIdle();
    const { body } = await region.post(INVOKE, SETOSA);
    expect(body).toEqual({ predictions: [0] });
    for (const name of ["iris", "smollm2"]) {
      const { replicas, load } = await region.endpoint(name);
      expect(replicas.map(({ word, lastExit }) => ({ word, lastExit }))).toEqual([{ word: "ready", lastExit: null }]);
      expect(load.failedRps).toBe(0);
    }
    expect(await region.metric("penstock_requests_failed_total")).toBe(0);
  });
});

function mlflow(message: RegExp): object {
  return { error_code: expect.stringMatching(/^[A-Z_]+$/), message: expect.stringMatching(message) };
}

function openai(message: RegExp): object {
  return {
    error: expect.objectContaining({ message: expect.stringMatching(message), type: "invalid_request_error" }),
  };
}

function kserve(error: RegExp): object {
  return { error: expect.stringMatching(error) };
}

function frame(columns: readonly string[], row: readonly number[]): object {
  return { dataframe_split: { columns, data: [row] } };
}

function longChat(): object {
  return { ...CHAT, messages: [{ role: "user", content: "word ".repeat(4_000) }] };
}
