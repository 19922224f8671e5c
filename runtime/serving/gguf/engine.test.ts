import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServedEngine, serveEngine } from "../engine.fixture.ts";
import { ggufRuntime } from "./runtime.ts";
import { findTestModel, HOW_TO_GET_TEST_MODEL } from "./test-model.ts";

const path = findTestModel();

describe.skipIf(path === null)(`a language model (${path === null ? HOW_TO_GET_TEST_MODEL : "SmolLM2-135M"})`, () => {
  let served: ServedEngine;
  let client: OpenAI;

  beforeAll(async () => {
    served = await serveEngine("gguf", ggufRuntime, path!, { contextTokens: 256 });
    const { host, port } = served.address;
    client = new OpenAI({ baseURL: `http://${host}:${port}/v1`, apiKey: "none", maxRetries: 0 });
  });

  afterAll(() => served.close());

  const question = { role: "user" as const, content: "What is the capital of France?" };

  test("answers whole, and streamed with the same text, usage and finish reason", async () => {
    const request = { model: "chat", messages: [question], temperature: 0, max_tokens: 12 };
    const whole = await client.chat.completions.create(request);
    const text = whole.choices[0]!.message.content!;
    expect(text).toContain("Paris");
    expect(whole.choices[0]!.finish_reason).toBe("stop");
    let streamed = "";
    let finish: string | null = null;
    let usage: unknown = null;
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    expect([streamed, finish]).toEqual([text, "stop"]);
    const { prompt_tokens, completion_tokens } = whole.usage!;
    expect(usage).toMatchObject({ prompt_tokens, completion_tokens });
    // Each of the two answers counted its tokens and itself.
    expect(served.counts().tokensTotal).toBe(2 * completion_tokens);
  });

  test("max_tokens ends with `length`, a stop text with `stop` and without the stop text", async () => {
    const base = { model: "chat", prompt: "one two three four five six", temperature: 0 };
    const cut = await client.completions.create({ ...base, max_tokens: 3 });
    expect(cut.choices[0]!.finish_reason).toBe("length");
    expect(cut.usage!.completion_tokens).toBe(3);
    const free = (await client.completions.create({ ...base, max_tokens: 8 })).choices[0]!.text;
    const stop = free.trim().split(" ").at(2)!;
    const stopped = await client.completions.create({ ...base, max_tokens: 8, stop: [stop] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop", text: free.slice(0, free.indexOf(stop)) });
  });

  test("more requests than sequences are all answered, the same alone and together", async () => {
    const ask = (): Promise<string> =>
      client.completions
        .create({ model: "chat", prompt: "The sky is", temperature: 0, max_tokens: 4 })
        .then((answer) => answer.choices[0]!.text);
    const alone = await ask();
    const together = await Promise.all(Array.from({ length: 6 }, ask));
    expect(together).toEqual(Array(6).fill(alone));
  });

  test("a client that goes away frees its sequence before its answer would have ended", async () => {
    const stream = await client.chat.completions.create({
      model: "chat",
      messages: [{ role: "user", content: "Count from one to one thousand." }],
      temperature: 0,
      stream: true,
    });
    for await (const _chunk of stream) break;
    const ended = () => served.counts().classes.every((row) => row.startedTotal === row.finishedTotal);
    await expect.poll(ended, { timeout: 10_000 }).toBe(true);
    await expect
      .poll(() => {
        served.engine.refreshGauges();
        return served.counts().sequencesActive;
      })
      .toBe(0);
    expect(served.counts()).toMatchObject({ sequencesWaiting: 0, kvUseRatio: 0, batchesTotal: null });
  });

  test("a prompt that does not fit is a 400 with OpenAI's code", async () => {
    const long = { ...question, content: "word ".repeat(400) };
    await expect(client.chat.completions.create({ model: "chat", messages: [long] })).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
  });

  test("what can't fit by its number of messages or characters is refused before it is made of tokens", async () => {
    const messages = Array(100_000).fill({ ...question, content: "a" });
    const text = "word ".repeat(100_000);
    const refusal = (why: string) => ({
      status: 400,
      code: "context_length_exceeded",
      message: expect.stringContaining(why),
    });
    await expect(client.chat.completions.create({ model: "chat", messages })).rejects.toMatchObject(
      refusal("100000 texts of 100000 characters"),
    );
    const long = refusal("1 text of 500000 characters");
    await expect(
      client.chat.completions.create({ model: "chat", messages: [{ role: "user", content: text }] }),
    ).rejects.toMatchObject(long);
    await expect(client.completions.create({ model: "chat", prompt: text })).rejects.toMatchObject(long);
    await expect(client.embeddings.create({ model: "chat", input: [text] })).rejects.toMatchObject(long);
  });

  test("an answer held to a JSON schema parses by it", async () => {
    const schema = { type: "object", properties: { age: { enum: [1, 2] } }, required: ["age"] };
    const answer = await client.chat.completions.create({
      model: "chat",
      messages: [{ role: "user", content: "An age as JSON" }],
      temperature: 0,
      max_tokens: 40,
      response_format: { type: "json_schema", json_schema: { name: "age", schema } },
    });
    expect([1, 2]).toContain(JSON.parse(answer.choices[0]!.message.content!).age);
  });

  test("embeddings have length 1, and near texts are nearer", async () => {
    const { data } = await client.embeddings.create({ model: "chat", input: ["a cat", "a cat", "stock market"] });
    const [a, same, other] = data.map((row) => row.embedding);
    const dot = (x: number[], y: number[]): number => x.reduce((sum, value, index) => sum + value * y[index]!, 0);
    expect(dot(a!, a!)).toBeCloseTo(1, 3);
    expect(dot(a!, same!)).toBeGreaterThan(dot(a!, other!));
  });
});
