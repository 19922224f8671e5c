import type { ServingAnswer } from "../contract.ts";
import type { Generated } from "./generator.ts";
import { errorBody, OpenAiError } from "./openai-error.ts";

/** How a generation is told: as a chat or as a plain completion. */
export interface Telling {
  readonly door: "chat" | "completion";
  readonly id: string;
  readonly createdAtSeconds: number;
  readonly model: string;
}

type Ending = Extract<Generated, { kind: "end" }>;

const JSON_HEADERS = { "content-type": "application/json" };
const STREAM_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** The whole answer, once the generation has ended. */
export function wholeAnswer(telling: Telling, text: string, ending: Ending): ServingAnswer {
  const chat = telling.door === "chat";
  const choice = {
    index: 0,
    ...(chat ? { message: { role: "assistant", content: text, refusal: null } } : { text }),
    logprobs: null,
    finish_reason: ending.finishReason,
  };
  const body = {
    ...head(telling, chat ? "chat.completion" : "text_completion"),
    choices: [choice],
    usage: usageOf(ending),
  };
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/**
 * The answer as server-sent events. `first` has been waited for already, so that a failure before it is an error of the
 * request; a failure after it is an event, since the status has been sent.
 */
export function streamedAnswer(
  telling: Telling,
  first: Generated,
  rest: AsyncIterable<Generated>,
  includeUsage: boolean,
): ServingAnswer {
  return { status: 200, headers: STREAM_HEADERS, body: events(telling, first, rest, includeUsage) };
}

async function* events(
  telling: Telling,
  first: Generated,
  rest: AsyncIterable<Generated>,
  includeUsage: boolean,
): AsyncGenerator<string> {
  const chat = telling.door === "chat";
  const chunkHead = head(telling, chat ? "chat.completion.chunk" : "text_completion");
  const event = (choices: readonly object[], usage: object | null): string =>
    `data: ${JSON.stringify({ ...chunkHead, choices, ...(includeUsage ? { usage } : {}) })}\n\n`;
  const piece = (text: string, finishReason: string | null): object => ({
    index: 0,
    ...(chat ? { delta: finishReason === null ? { content: text } : {} } : { text }),
    logprobs: null,
    finish_reason: finishReason,
  });
  const tell = (generated: Generated): string => {
    if (generated.kind === "text") return event([piece(generated.text, null)], null);
    const last = event([piece("", generated.finishReason)], null);
    return `${last}${includeUsage ? event([], usageOf(generated)) : ""}data: [DONE]\n\n`;
  };
  const opening = { index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null };
  yield (chat ? event([opening], null) : "") + tell(first);
  try {
    for await (const generated of rest) yield tell(generated);
  } catch {
    yield `data: ${JSON.stringify(errorBody(new OpenAiError(500, "the generation failed")))}\n\n`;
  }
}

function head(telling: Telling, object: string): object {
  return { id: telling.id, object, created: telling.createdAtSeconds, model: telling.model };
}

function usageOf(ending: Ending): object {
  return {
    prompt_tokens: ending.promptTokens,
    completion_tokens: ending.completionTokens,
    total_tokens: ending.promptTokens + ending.completionTokens,
    prompt_tokens_details: { cached_tokens: ending.cachedTokens },
  };
}

/** The answer to an embeddings request; base64 is little-endian float32, as OpenAI's clients ask for by default. */
export function embeddingAnswer(
  model: string,
  vectors: readonly (readonly number[])[],
  promptTokens: number,
  base64: boolean,
): ServingAnswer {
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: base64 ? Buffer.from(new Float32Array(vector).buffer).toString("base64") : vector,
  }));
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ object: "list", data, model, usage }) };
}

/** The answer of `/v1/models`: this replica's one model. */
export function modelsAnswer(model: string, createdAtSeconds: number): ServingAnswer {
  const data = [{ id: model, object: "model", created: createdAtSeconds, owned_by: "penstock" }];
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ object: "list", data }) };
}
