import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bodyFromSignature, firstRow, readModelFacts, requestFromInput } from "./probes.ts";
import { planWorkers } from "./workers.ts";

describe("a request made from a signature", () => {
  test("named columns give one row of zeros by type", () => {
    const inputs = JSON.stringify([
      { type: "double", name: "a" },
      { type: "string", name: "b" },
      { type: "boolean", name: "c" },
    ]);
    expect(JSON.parse(bodyFromSignature(inputs) ?? "")).toEqual({
      dataframe_split: { columns: ["a", "b", "c"], data: [[0, "", false]] },
    });
  });

  test("a tensor gives zeros of its shape, free sizes as 1", () => {
    const inputs = JSON.stringify([{ type: "tensor", "tensor-spec": { dtype: "float32", shape: [-1, 2, 2] } }]);
    expect(JSON.parse(bodyFromSignature(inputs) ?? "")).toEqual({
      inputs: [
        [
          [0, 0],
          [0, 0],
        ],
      ],
    });
  });

  test("named tensors give an object", () => {
    const tensor = { type: "tensor", "tensor-spec": { dtype: "int64", shape: [-1] } };
    const inputs = JSON.stringify([
      { ...tensor, name: "x" },
      { ...tensor, name: "y" },
    ]);
    expect(JSON.parse(bodyFromSignature(inputs) ?? "")).toEqual({ inputs: { x: [0], y: [0] } });
  });

  test("what can't be guessed (an object, no signature) gives no request", () => {
    expect(bodyFromSignature(JSON.stringify([{ type: "object", name: "a", properties: {} }]))).toBeNull();
    expect(bodyFromSignature(null)).toBeNull();
  });
});

test("a canary is the example's first row, in each form of the door", () => {
  expect(firstRow('{"dataframe_split":{"index":[0,1],"columns":["a"],"data":[[1],[2]]}}')).toBe(
    '{"dataframe_split":{"columns":["a"],"data":[[1]]}}',
  );
  expect(firstRow('{"inputs":[[1],[2]]}')).toBe('{"inputs":[[1]]}');
  expect(firstRow('{"inputs":{"x":[1,2]}}')).toBe('{"inputs":{"x":[1,2]}}');
});

test("an input that older versions of MLflow saved is made a request where its form is known", () => {
  expect(requestFromInput('{"columns":["a"],"data":[[1]]}')).toBe('{"dataframe_split":{"columns":["a"],"data":[[1]]}}');
  expect(requestFromInput('{"inputs":[[1]]}')).toBe('{"inputs":[[1]]}');
  for (const other of ['"text"', "[[1]]", '{"a":1}']) expect(requestFromInput(other)).toBeNull();
});

test("the example that was saved with the model is what warms it up", async () => {
  const folder = mkdtempSync(join(tmpdir(), "penstock-probes-"));
  writeFileSync(join(folder, "MLmodel"), "flavors:\n  python_function:\n    loader_module: mlflow.sklearn\n");
  writeFileSync(join(folder, "serving_input_example.json"), '{"inputs":[[1],[2]]}');
  const { loaderModule, probes, exampleRequest } = await readModelFacts(folder);
  rmSync(folder, { recursive: true });
  expect(loaderModule).toBe("mlflow.sklearn");
  expect(probes.warmUps.map(({ path, body }) => [path, body])).toEqual([["/invocations", '{"inputs":[[1],[2]]}']]);
  expect(probes.canaries.map(({ body }) => body)).toEqual(['{"inputs":[[1]]}']);
  expect(exampleRequest).toEqual({ inputs: [[1]] });
});

test.each([
  [0.5, 1, 1, "less than a core is one worker"],
  [1, 1, 1, "one core is one worker"],
  [4, 4, 1, "a worker per core, each with one thread"],
])("%d cores and a small model: %d workers of %d thread(s): %s", (cpuCount, most, threadsEach) => {
  expect(planWorkers(cpuCount, 2 ** 33, 10_000)).toEqual({ most, threadsEach });
});

test("a model whose copies would fill the memory has one worker with all threads", () => {
  // 3 GiB of files, 4 times that when loaded, in 4 workers: 48 GiB do not fit into 16.
  expect(planWorkers(4, 16 * 2 ** 30, 3 * 2 ** 30)).toEqual({ most: 1, threadsEach: 4 });
});
