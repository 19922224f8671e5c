import { describe, expect, test } from "vitest";
import { parseChatRequest, parseCompletionRequest, parseEmbeddingRequest } from "./openai-request.ts";

const body = (fields: unknown): Buffer => Buffer.from(JSON.stringify(fields));
const messages = [{ role: "user", content: "hi" }];

test("a chat with nothing but messages gets OpenAI's documented defaults", () => {
  expect(parseChatRequest(body({ messages }))).toEqual({
    model: "",
    stream: false,
    includeUsage: false,
    messages: [{ role: "user", text: "hi" }],
    sampling: {
      temperature: 1,
      topP: 1,
      seed: null,
      frequencyPenalty: 0,
      presencePenalty: 0,
      maxTokens: null,
      stop: [],
    },
    format: { kind: "text" },
  });
});

test("text parts are joined and the developer's role is the system's", () => {
  const parts = [
    { type: "text", text: "a" },
    { type: "text", text: "b" },
  ];
  const parsed = parseChatRequest(body({ messages: [{ role: "developer", content: parts }] }));
  expect(parsed.messages).toEqual([{ role: "system", text: "ab" }]);
});

test("max_completion_tokens wins over max_tokens; a completion without a limit gets 16 tokens", () => {
  const both = parseChatRequest(body({ messages, max_tokens: 5, max_completion_tokens: 7 }));
  expect(both.sampling.maxTokens).toBe(7);
  expect(parseCompletionRequest(body({ prompt: "a" })).sampling.maxTokens).toBe(16);
});

describe("a request that can't be served names its field", () => {
  test.each([
    [{}, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].role"],
    [{ messages: [{ role: "user", content: [{ type: "image_url" }] }] }, "messages[0].content"],
    [{ messages, n: 2 }, "n"],
    [{ messages, temperature: 3 }, "temperature"],
    [{ messages, top_p: "x" }, "top_p"],
    [{ messages, max_tokens: 0 }, "max_tokens"],
    [{ messages, stop: ["a", "b", "c", "d", "e"] }, "stop"],
    [{ messages, stream: "yes" }, "stream"],
    [{ messages, tools: [{}] }, "tools"],
    [{ messages, response_format: { type: "xml" } }, "response_format"],
  ])("%j", (fields, param) => {
    expect(() => parseChatRequest(body(fields))).toThrow(expect.objectContaining({ status: 400, param }));
  });

  test("embeddings refuse empty texts and unknown encodings", () => {
    expect(() => parseEmbeddingRequest(body({ input: "" }))).toThrow(expect.objectContaining({ param: "input" }));
    const fields = { input: "a", encoding_format: "hex" };
    expect(() => parseEmbeddingRequest(body(fields))).toThrow(expect.objectContaining({ param: "encoding_format" }));
  });
});

test("an embeddings input may be a text, texts, tokens, or lists of tokens", () => {
  const inputs = (input: unknown): unknown => parseEmbeddingRequest(body({ input })).inputs;
  expect(inputs("a")).toEqual(["a"]);
  expect(inputs(["a", "b"])).toEqual(["a", "b"]);
  expect(inputs([1, 2])).toEqual([[1, 2]]);
  expect(inputs([[1], [2]])).toEqual([[1], [2]]);
});
