import { describe, expect, test } from "vitest";
import { curlLine } from "./curl-line.ts";

const REACH = { baseUrl: "http://127.0.0.1:8080", keysRequired: false };

describe("the line to copy", () => {
  test("of a model with one tensor sends that tensor in the model's own shape", () => {
    const inputs = [{ name: "features", datatype: "FP32", shape: [-1, 4] }];
    expect(curlLine({ name: "iris", doors: ["mlflow", "kserve"], metadata: { inputs } }, REACH)).toBe(
      `curl http://127.0.0.1:8080/serving-endpoints/iris/invocations -H 'content-type: application/json' -d '{"inputs":[[0.5,0.5,0.5,0.5]]}'`,
    );
  });
  test("of a model with several tensors names them", () => {
    const inputs = [
      { name: "ids", datatype: "INT64", shape: [-1, 2] },
      { name: "text", datatype: "BYTES", shape: [-1] },
    ];
    expect(curlLine({ name: "m", doors: ["mlflow"], metadata: { inputs } }, REACH)).toContain(
      `-d '{"inputs":{"ids":[[1,1]],"text":["text"]}}'`,
    );
  });
  test("of a model that was saved with an example sends that, whatever its inputs", () => {
    const example_request = { dataframe_split: { columns: ["it's"], data: [[5.1]] } };
    const inputs = [{ name: "it's", datatype: "FP64", shape: [-1, 1] }];
    const metadata = { inputs, parameters: { example_request } };
    expect(curlLine({ name: "m", doors: ["mlflow", "kserve"], metadata }, REACH)).toBe(
      `curl http://127.0.0.1:8080/serving-endpoints/m/invocations -H 'content-type: application/json' -d '{"dataframe_split":{"columns":["it'\\''s"],"data":[[5.1]]}}'`,
    );
  });
  test("of a chat model asks a question", () => {
    expect(curlLine({ name: "smollm2", doors: ["openai"], metadata: null }, REACH)).toContain(
      `http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' -d '{"model":"smollm2"`,
    );
  });
  test("names the key's variable where keys are required", () => {
    const line = curlLine({ name: "own", doors: ["raw"], metadata: null }, { ...REACH, keysRequired: true });
    expect(line).toBe('curl http://127.0.0.1:8080/endpoints/own/ -H "authorization: Bearer $PENSTOCK_KEY"');
  });
  test("of a server of one's own, whose doors are all open, asks its own path and not for a chat", () => {
    expect(curlLine({ name: "own", doors: ["openai", "mlflow", "kserve", "raw"], metadata: null }, REACH)).toBe(
      "curl http://127.0.0.1:8080/endpoints/own/",
    );
  });
  test("asks a model that tells no inputs what it is", () => {
    expect(curlLine({ name: "m", doors: ["kserve"], metadata: null }, REACH)).toBe(
      "curl http://127.0.0.1:8080/v2/models/m",
    );
  });
});
