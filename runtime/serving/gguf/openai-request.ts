import { OpenAiError } from "./openai-error.ts";

/** How tokens are drawn and when to stop. */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number | null;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Null: as many as the context holds. */
  readonly maxTokens: number | null;
  readonly stop: readonly string[];
}

/** How the answer is wanted. */
export interface Delivery {
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** One message of a chat. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly text: string;
}

/** What a chat's answer must look like. */
export type ChatFormat =
  | { readonly kind: "text" }
  | { readonly kind: "json" }
  | { readonly kind: "schema"; readonly schema: object };

/** `POST /v1/chat/completions`. */
export interface ChatRequest extends Delivery {
  readonly messages: readonly ChatMessage[];
  readonly sampling: Sampling;
  readonly format: ChatFormat;
}

/** `POST /v1/completions`: text, or tokens of the model's own vocabulary. */
export interface CompletionRequest extends Delivery {
  readonly prompt: string | readonly number[];
  readonly sampling: Sampling;
}

/** `POST /v1/embeddings`. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly inputs: readonly (string | readonly number[])[];
  readonly base64: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Most stop sequences, as OpenAI's API has it. */
const MAX_STOPS = 4;
/** Most inputs of one embeddings request, as OpenAI's API has it. */
const MAX_EMBEDDING_INPUTS = 2048;

/** Errors: OpenAiError naming the field. */
export function parseChatRequest(body: Buffer): ChatRequest {
  const fields = parseFields(body);
  refuse(fields, "tools", "functions", "audio", "logprobs", "top_logprobs", "logit_bias");
  const { messages } = fields;
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new OpenAiError(400, "'messages' must be a list of at least one message", "messages");
  }
  const most = fields.max_completion_tokens ?? fields.max_tokens;
  return {
    ...parseDelivery(fields),
    messages: messages.map((message, index) => parseMessage(message, `messages[${index}]`)),
    sampling: parseSampling(fields, most, null),
    format: parseFormat(fields.response_format),
  };
}

/** Tokens of a completion whose request names no limit, as OpenAI's API has it. */
const DEFAULT_COMPLETION_TOKENS = 16;

/** Errors: OpenAiError naming the field. */
export function parseCompletionRequest(body: Buffer): CompletionRequest {
  const fields = parseFields(body);
  refuse(fields, "suffix", "echo", "logprobs", "logit_bias");
  if (fields.best_of !== undefined && fields.best_of !== null && fields.best_of !== 1) {
    throw new OpenAiError(400, "'best_of' must be 1", "best_of", "unsupported_value");
  }
  const { prompt } = fields;
  const only = Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] !== "number" ? prompt[0] : prompt;
  if (typeof only !== "string" && !isTokenList(only)) {
    throw new OpenAiError(400, "'prompt' must be one text or one list of token ids", "prompt");
  }
  return {
    ...parseDelivery(fields),
    prompt: only,
    sampling: parseSampling(fields, fields.max_tokens, DEFAULT_COMPLETION_TOKENS),
  };
}

/** Errors: OpenAiError naming the field. */
export function parseEmbeddingRequest(body: Buffer): EmbeddingRequest {
  const fields = parseFields(body);
  refuse(fields, "dimensions");
  const { input } = fields;
  const inputs = typeof input === "string" || isTokenList(input) ? [input] : input;
  const valid =
    Array.isArray(inputs) &&
    inputs.length > 0 &&
    inputs.every((each) => (typeof each === "string" && each !== "") || isTokenList(each));
  if (!valid || inputs.length > MAX_EMBEDDING_INPUTS) {
    throw new OpenAiError(400, `'input' must be a text or up to ${MAX_EMBEDDING_INPUTS} texts, none empty`, "input");
  }
  const format = fields.encoding_format ?? "float";
  if (format !== "float" && format !== "base64") {
    throw new OpenAiError(400, "'encoding_format' must be float or base64", "encoding_format");
  }
  return { model: parseModel(fields), inputs: inputs as (string | number[])[], base64: format === "base64" };
}

function parseFields(body: Buffer): Fields {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new OpenAiError(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) {
    throw new OpenAiError(400, "the body must be a JSON object");
  }
  return parsed as Fields;
}

function refuse(fields: Fields, ...names: readonly string[]): void {
  for (const name of names) {
    const value = fields[name];
    const empty =
      value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);
    if (!empty) {
      throw new OpenAiError(400, `'${name}' is not supported by this model's runtime`, name, "unsupported_parameter");
    }
  }
}

function parseDelivery(fields: Fields): Delivery {
  if (fields.n !== undefined && fields.n !== null && fields.n !== 1) {
    throw new OpenAiError(400, "'n' must be 1: one choice per request is generated", "n", "unsupported_value");
  }
  const stream = fields.stream ?? false;
  if (typeof stream !== "boolean") throw new OpenAiError(400, "'stream' must be true or false", "stream");
  const options = fields.stream_options as { include_usage?: unknown } | null | undefined;
  return { model: parseModel(fields), stream, includeUsage: options?.include_usage === true };
}

function parseModel(fields: Fields): string {
  const { model } = fields;
  if (model !== undefined && typeof model !== "string") throw new OpenAiError(400, "'model' must be a text", "model");
  return model ?? "";
}

function parseSampling(fields: Fields, most: unknown, defaultTokens: number | null): Sampling {
  return {
    temperature: numberIn(fields, "temperature", 0, 2, 1),
    topP: numberIn(fields, "top_p", 0, 1, 1),
    frequencyPenalty: numberIn(fields, "frequency_penalty", -2, 2, 0),
    presencePenalty: numberIn(fields, "presence_penalty", -2, 2, 0),
    seed: integerOf(fields.seed, "seed", Number.MIN_SAFE_INTEGER) ?? null,
    maxTokens:
      integerOf(most, "max_completion_tokens" in fields ? "max_completion_tokens" : "max_tokens", 1) ?? defaultTokens,
    stop: parseStop(fields.stop),
  };
}

function numberIn(fields: Fields, name: string, least: number, most: number, fallback: number): number {
  const value = fields[name] ?? fallback;
  if (typeof value !== "number" || !(value >= least && value <= most)) {
    throw new OpenAiError(400, `'${name}' must be a number from ${least} to ${most}`, name, "invalid_value");
  }
  return value;
}

function integerOf(value: unknown, name: string, least: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw new OpenAiError(400, `'${name}' must be a whole number of at least ${least}`, name, "invalid_value");
  }
  return value as number;
}

function parseStop(value: unknown): string[] {
  const list = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  if (list.length > MAX_STOPS || !list.every((stop) => typeof stop === "string" && stop !== "")) {
    throw new OpenAiError(
      400,
      `'stop' must be a text or up to ${MAX_STOPS} texts, none empty`,
      "stop",
      "invalid_value",
    );
  }
  return list as string[];
}

function parseMessage(value: unknown, where: string): ChatMessage {
  const { role, content } = (value ?? {}) as { role?: unknown; content?: unknown };
  if (role !== "system" && role !== "developer" && role !== "user" && role !== "assistant") {
    throw new OpenAiError(400, `'${where}.role' must be system, developer, user or assistant`, `${where}.role`);
  }
  return { role: role === "developer" ? "system" : role, text: parseContent(content, `${where}.content`) };
}

function parseContent(content: unknown, where: string): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw new OpenAiError(400, `'${where}' must be a text or a list of text parts`, where);
  return content
    .map((part: { type?: unknown; text?: unknown } | null) => {
      if (part?.type !== "text" || typeof part.text !== "string") {
        throw new OpenAiError(400, `'${where}' may hold text parts only: the model reads no images or audio`, where);
      }
      return part.text;
    })
    .join("");
}

function parseFormat(value: unknown): ChatFormat {
  const format = (value ?? { type: "text" }) as { type?: unknown; json_schema?: { schema?: unknown } };
  const schema = format.json_schema?.schema;
  if (format.type === "text") return { kind: "text" };
  if (format.type === "json_object") return { kind: "json" };
  if (format.type === "json_schema" && schema !== null && typeof schema === "object") return { kind: "schema", schema };
  throw new OpenAiError(
    400,
    "'response_format' must be of type text, json_object, or json_schema with 'json_schema.schema'",
    "response_format",
  );
}

function isTokenList(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token) && token >= 0);
}
