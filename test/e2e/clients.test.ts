import { spawn } from "node:child_process";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTestModel } from "../../runtime/serving/gguf/test-model.ts";
import { findClientPython } from "../clients/python.ts";
import { ended, TestRegion } from "./region.ts";
import { HOW_TO_GET } from "./tools.ts";

const python = findClientPython();
const MISSING = python === null || findTestModel() === null ? ` (skipped: ${HOW_TO_GET})` : "";

interface Reference {
  readonly features: readonly (readonly number[])[];
  readonly labels: readonly number[];
  readonly probabilities: readonly (readonly number[])[];
}

describe.skipIf(MISSING !== "")(`the examples, asked by clients that others wrote${MISSING}`, () => {
  let region: TestRegion;
  let iris: Reference;

  beforeAll(async () => {
    const started = TestRegion.start({ file: null });
    iris = (await runClient("iris_reference.py", [], null)) as Reference;
    region = await started;
  });
  afterAll(() => region?.end());

  /** Runs a client of test/clients with `input` on its stdin, and returns what it printed. */
  async function runClient(script: string, args: readonly string[], input: unknown): Promise<unknown> {
    const child = spawn(python!, [join(import.meta.dirname, "..", "clients", script), ...args]);
    child.stdin.end(JSON.stringify(input));
    const { code, stdout, stderr } = await ended(child);
    if (code !== 0) throw new Error(`${script} ended with ${code}:\n${stderr}`);
    return JSON.parse(stdout);
  }

  describe("the openai client", () => {
    let client: OpenAI;
    /** The model picks the likeliest token each time, so that equal questions have equal answers. */
    const capital = {
      model: "smollm2",
      messages: [{ role: "user" as const, content: "What is the capital of France?" }],
      temperature: 0,
      max_tokens: 24,
    };
    beforeAll(() => {
      client = new OpenAI({ baseURL: `${region.url}/v1`, apiKey: "none-is-needed", maxRetries: 0 });
    });

    test("lists the chat model, and no model that it could not talk to", async () => {
      const { data } = await client.models.list();
      expect(data.map(({ id }) => id)).toEqual(["smollm2"]);
      expect((await client.models.retrieve("smollm2")).id).toBe("smollm2");
    });

    test("gets a chat answer that is right, with its usage", async () => {
      const { choices, usage } = await client.chat.completions.create(capital);
      expect(choices[0]?.message.content).toContain("Paris");
      expect(usage?.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
    });

    test("gets the same answer as a stream", async () => {
      const whole = await client.chat.completions.create(capital);
      const stream = await client.chat.completions.create({
        ...capital,
        stream: true,
        stream_options: { include_usage: true },
      });
      const parts: string[] = [];
      let tokens = 0;
      for await (const chunk of stream) {
        parts.push(chunk.choices[0]?.delta.content ?? "");
        tokens = chunk.usage?.completion_tokens ?? tokens;
      }
      expect(parts.join("")).toBe(whole.choices[0]?.message.content);
      expect(parts.length).toBeGreaterThan(2);
      expect(tokens).toBe(whole.usage?.completion_tokens);
    });

    test("gets a plain completion, cut at max_tokens and at a stop word", async () => {
      const prompt = { model: "smollm2", prompt: "One, two, three, four,", temperature: 0 };
      const cut = await client.completions.create({ ...prompt, max_tokens: 3 });
      expect(cut.choices[0]).toMatchObject({ finish_reason: "length" });
      expect(cut.usage?.completion_tokens).toBe(3);
      const stopped = await client.completions.create({ ...prompt, max_tokens: 40, stop: " six" });
      expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop", text: " five," });
    });

    test("reads the errors as its own kinds", async () => {
      const unknown = client.chat.completions.create({ ...capital, model: "nobody" });
      await expect(unknown).rejects.toThrow(OpenAI.NotFoundError);
      await expect(unknown).rejects.toMatchObject({ code: "PENSTOCK_UNKNOWN_ENDPOINT", param: "model" });
      const wrong = client.chat.completions.create({ ...capital, temperature: 99 });
      await expect(wrong).rejects.toThrow(OpenAI.BadRequestError);
    });
  });

  test("MLflow's deployments client gets the labels that scikit-learn gives, and a language model's answers", async () => {
    const answered = await runClient("mlflow_client.py", [region.url, "iris", "smollm2"], iris.features);
    expect(answered).toMatchObject({
      endpoints: ["iris", "smollm2"],
      endpoint: "iris",
      inputs: { predictions: iris.labels },
      instances: { predictions: iris.labels },
      chat: { model: "smollm2", choices: [{ message: { content: expect.stringContaining("Paris") } }] },
      completion: { choices: [{ text: expect.stringContaining("five") }], usage: { completion_tokens: 3 } },
      unknown: expect.stringContaining("404"),
      wrong: expect.stringContaining("400"),
    });
  });

  test.each([
    ["inputs", (rows: Reference["features"]) => ({ inputs: rows })],
    ["named inputs", (rows: Reference["features"]) => ({ inputs: { features: rows } })],
    ["instances", (rows: Reference["features"]) => ({ instances: rows })],
    ["dataframe_split", (rows: Reference["features"]) => ({ dataframe_split: { columns: COLUMNS, data: rows } })],
    [
      "dataframe_records",
      (rows: Reference["features"]) => ({
        dataframe_records: rows.map((row) => Object.fromEntries(COLUMNS.map((column, index) => [column, row[index]]))),
      }),
    ],
  ])("a request as MLflow documents it (%s) gets the labels that scikit-learn gives", async (_, bodyOf) => {
    const { status, body } = await region.post("/serving-endpoints/iris/invocations", bodyOf(iris.features));
    expect({ status, body }).toEqual({ status: 200, body: { predictions: iris.labels } });
  });

  test("Triton's client gets labels and probabilities that scikit-learn gives, as binary tensors and as JSON", async () => {
    const address = region.url.slice("http://".length);
    const answered = (await runClient("triton_client.py", [address, "iris"], iris.features)) as Triton;
    expect(answered).toMatchObject({ live: true, ready: true, modelReady: true });
    for (const way of ["defaults", "json"] as const) {
      expect(answered[way].label).toEqual(iris.labels);
      const differences = answered[way].probabilities.flatMap((row, at) =>
        row.map((value, column) => Math.abs(value - iris.probabilities[at]![column]!)),
      );
      // The served model computes in 32 bits, scikit-learn in 64: a sum of four products of about 6 loses under 1e-6 each.
      expect(Math.max(...differences)).toBeLessThan(1e-5);
    }
    expect(answered.oneOutput).toEqual({ label: iris.labels });
    expect(answered.unknown).toContain('no endpoint is named "nobody"');
    expect(answered.wrongShape).toContain("features");
  });

  test("each request of a client that was answered is settled: nothing is left in flight", async () => {
    await region.whenIdle();
  });
});

const COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"];

interface Triton {
  readonly defaults: { readonly label: readonly number[]; readonly probabilities: readonly (readonly number[])[] };
  readonly json: Triton["defaults"];
  readonly oneOutput: unknown;
  readonly unknown: string;
  readonly wrongShape: string;
}
