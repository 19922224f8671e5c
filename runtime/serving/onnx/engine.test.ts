import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HEADERS } from "../../contract/names.ts";
import { type ServedEngine, serveEngine } from "../engine.fixture.ts";
import { onnxRuntime } from "./runtime.ts";
import { writeTinyClassifier } from "./test-model.ts";

let served: ServedEngine;

beforeAll(async () => {
  served = await serveEngine("onnx", onnxRuntime, writeTinyClassifier());
});

afterAll(() => served.close());

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://${served.address.host}:${served.address.port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

describe("MLflow's door", () => {
  test.each([
    [
      "inputs",
      {
        inputs: [
          [1, 2],
          [3, 0],
        ],
      },
    ],
    [
      "inputs by name",
      {
        inputs: {
          X: [
            [1, 2],
            [3, 0],
          ],
        },
      },
    ],
    [
      "instances",
      {
        instances: [
          [1, 2],
          [3, 0],
        ],
      },
    ],
    [
      "dataframe_split",
      {
        dataframe_split: {
          columns: ["a", "b"],
          data: [
            [1, 2],
            [3, 0],
          ],
        },
      },
    ],
    [
      "dataframe_records",
      {
        dataframe_records: [
          { a: 1, b: 2 },
          { a: 3, b: 0 },
        ],
      },
    ],
  ])("%s gives the classifier's label per row", async (_form, body) => {
    const answer = await post("/invocations", body);
    expect(answer.status).toBe(200);
    // The larger column's index: 2 > 1, then 3 > 0.
    expect(await answer.json()).toEqual({ predictions: [1, 0] });
  });

  test.each([
    ["not JSON", "{", /not JSON/],
    ["no form", {}, /exactly one of/],
    ["two forms", { inputs: [], instances: [] }, /exactly one of/],
    [
      "too many columns",
      { dataframe_split: { columns: ["a", "b", "c"], data: [[1, 2, 3]] } },
      /takes 2 columns.*got 3/,
    ],
    ["uneven rows", { dataframe_split: { columns: ["a", "b"], data: [[1, 2], [1]] } }, /row 1 .* 1 values for 2/],
    ["another rank", { inputs: [1, 2] }, /float32\[N, 2\], got shape \[2\]/],
    ["ragged", { inputs: [[1, 2], [3]] }, /ragged/],
    ["text for a number", { inputs: [["a", 2]] }, /"a", which is not a float32/],
    ["unknown input", { inputs: { Z: [[1, 2]] } }, /exactly the inputs X: float32\[N, 2\]; got Z/],
  ])("%s is a 400 in MLflow's shape that says what is expected", async (_case, body, message) => {
    const answer = await post("/invocations", body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ error_code: "BAD_REQUEST", message: expect.stringMatching(message) });
  });
});

describe("KServe v2's door", () => {
  const input = { name: "X", datatype: "FP32", shape: [2, 2] };

  test("JSON tensors in and out, flat and in the model's order", async () => {
    const answer = await post("/v2/models/any/infer", { id: "7", inputs: [{ ...input, data: [1, 2, 3, 0] }] });
    expect(await answer.json()).toMatchObject({
      model_name: "any",
      id: "7",
      outputs: [
        { name: "label", datatype: "INT64", shape: [2], data: [1, 0] },
        { name: "probabilities", datatype: "FP32", shape: [2, 2] },
      ],
    });
  });

  test("binary tensors in and out, as tritonclient sends them by default", async () => {
    const head = JSON.stringify({
      inputs: [{ ...input, parameters: { binary_data_size: 16 } }],
      parameters: { binary_data_output: true },
    });
    const answer = await fetch(`http://${served.address.host}:${served.address.port}/v2/models/any/infer`, {
      method: "POST",
      headers: { "inference-header-content-length": String(head.length) },
      body: Buffer.concat([Buffer.from(head), Buffer.from(new Float32Array([1, 2, 3, 0]).buffer)]),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const length = Number(answer.headers.get("inference-header-content-length"));
    expect(JSON.parse(bytes.toString("utf8", 0, length)).outputs[0].parameters).toEqual({ binary_data_size: 16 });
    // Two int64 labels, little endian.
    expect([bytes.readBigInt64LE(length), bytes.readBigInt64LE(length + 8)]).toEqual([1n, 0n]);
  });

  test.each([
    ["datatype", { inputs: [{ ...input, datatype: "INT32", data: [1, 2, 3, 0] }] }, /must have datatype FP32/],
    ["shape", { inputs: [{ ...input, shape: [2, 3], data: [] }] }, /float32\[N, 2\], got shape \[2, 3\]/],
    ["count", { inputs: [{ ...input, data: [1] }] }, /needs 4 values, got 1/],
    ["output", { inputs: [{ ...input, data: [1, 2, 3, 0] }], outputs: [{ name: "zz" }] }, /model has label, prob/],
  ])("a wrong %s is a 400 that says what is expected", async (_case, body, message) => {
    const answer = await post("/v2/models/any/infer", body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ error: expect.stringMatching(message) });
  });

  test("metadata names inputs and outputs with free sizes as -1", async () => {
    const answer = await fetch(`http://${served.address.host}:${served.address.port}/v2/models/any`);
    expect(await answer.json()).toMatchObject({ inputs: [{ name: "X", datatype: "FP32", shape: [-1, 2] }] });
  });
});

describe("batching", () => {
  test("requests that come together run together, and each gets its own rows", async () => {
    const before = served.counts();
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        // An odd request has its larger value second.
        const row = index % 2 === 0 ? [index + 1, 0] : [0, index + 1];
        return (await (await post("/invocations", { inputs: [row] })).json()) as { predictions: number[] };
      }),
    );
    expect(answers.map((answer) => answer.predictions[0])).toEqual(Array.from({ length: 40 }, (_, i) => i % 2));
    const after = served.counts();
    expect(after.batchRowsTotal).toBe((before.batchRowsTotal ?? 0) + 40);
    expect(after.batchesTotal).toBeLessThanOrEqual((before.batchesTotal ?? 0) + 40);
    // What it has none of is unknown, and not 0.
    expect(after).toMatchObject({ sequencesActive: null, kvUseRatio: null, tokensTotal: null });
    expect(after.classes[0]).toMatchObject({ failedTotal: 0 });
  });

  test("a keeper's probe moves no load counter", async () => {
    const before = served.counts();
    await (await post("/invocations", { inputs: [[1, 2]] }, { [HEADERS.probe]: served.probeSecret })).text();
    const after = served.counts();
    expect(after.classes).toEqual(before.classes);
  });
});
