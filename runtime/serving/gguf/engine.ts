import { randomUUID } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Token } from "node-llama-cpp";
import { UserError } from "../../core/errors.ts";
import type { Engine, EngineContext, Route, ServingAnswer, ServingRequest } from "../contract.ts";
import { CHAT, COMPLETION, EMBEDDING } from "./classes.ts";
import { type Generated, generate } from "./generator.ts";
import { LanguageModel } from "./language-model.ts";
import { embeddingAnswer, modelsAnswer, streamedAnswer, type Telling, wholeAnswer } from "./openai-answer.ts";
import { OpenAiError, openAiErrorAnswer } from "./openai-error.ts";
import {
  type ChatFormat,
  type Delivery,
  parseChatRequest,
  parseCompletionRequest,
  parseEmbeddingRequest,
  type Sampling,
} from "./openai-request.ts";
import { chatProbes, embeddingProbes } from "./probes.ts";

/** Requests held per sequence: those beyond the sequences wait their turn, and past this the router picks another. */
const HELD_PER_SEQUENCE = 4;
/** No vocabulary has a longer token: the longest known are runs of some 100 spaces, this has room for ten times that. */
const LONGEST_TOKEN_CHARACTERS = 1_024;

/** Loads a GGUF model: OpenAI's door, continuous batching over sequences. Errors: UserError where it can't be loaded. */
export async function startGguf(context: EngineContext): Promise<Engine> {
  const { artifact, run } = context.launch.version;
  return new GgufEngine(await LanguageModel.load(await findModelFile(artifact.path), run), context);
}

/** What all generating requests have in common, once their prompt is made of tokens. */
interface Work extends Delivery {
  readonly door: "chat" | "completion";
  readonly requestClass: string;
  readonly tokens: readonly Token[];
  readonly sampling: Sampling;
  readonly format: ChatFormat;
}

class GgufEngine implements Engine {
  readonly probes: Engine["probes"];
  readonly maxInFlight: number;
  readonly #language: LanguageModel;
  readonly #counters: EngineContext["counters"];
  readonly #endpoint: string;
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(language: LanguageModel, { counters, launch }: EngineContext) {
    this.#language = language;
    this.#counters = counters;
    counters.count("tokensTotal", 0);
    this.#endpoint = launch.version.endpoint;
    this.probes = language.pool === null ? embeddingProbes(EMBEDDING) : chatProbes(CHAT, COMPLETION);
    this.maxInFlight = language.sequences * HELD_PER_SEQUENCE;
    const post = (requestClass: string, answer: (request: ServingRequest) => Promise<ServingAnswer>): Route => ({
      requestClass,
      handle: (request) => inDoorsShape(() => answer(request)),
    });
    const models: Route = { requestClass: null, handle: () => this.#models() };
    this.#routes = new Map([
      ["POST /v1/chat/completions", post(CHAT, (request) => this.#chat(request))],
      ["POST /v1/completions", post(COMPLETION, (request) => this.#complete(request))],
      ["POST /v1/embeddings", post(EMBEDDING, (request) => this.#embed(request))],
      ["GET /v1/models", models],
      ["GET /health", models],
    ]);
  }

  route(method: string, path: string): Route | null {
    return this.#routes.get(`${method} ${path}`) ?? null;
  }

  refreshGauges(): void {
    const { pool } = this.#language;
    if (pool === null) return;
    this.#counters.gauge("sequencesActive", pool.active);
    this.#counters.gauge("sequencesWaiting", pool.waiting);
    this.#counters.gauge("kvUseRatio", pool.kvUseRatio());
  }

  close(): Promise<void> {
    return this.#language.close();
  }

  #models(): ServingAnswer {
    return modelsAnswer(this.#endpoint, nowSeconds());
  }

  #chat(request: ServingRequest): Promise<ServingAnswer> {
    const parsed = parseChatRequest(request.body);
    this.#refuseHopeless(
      parsed.messages.map(({ text }) => text),
      "messages",
    );
    const tokens = this.#language.chatPrompt(parsed.messages);
    return this.#generate(request, { ...parsed, door: "chat", requestClass: CHAT, tokens });
  }

  #complete(request: ServingRequest): Promise<ServingAnswer> {
    const parsed = parseCompletionRequest(request.body);
    if (typeof parsed.prompt === "string") this.#refuseHopeless([parsed.prompt], "prompt");
    const tokens = this.#language.textPrompt(parsed.prompt);
    if (tokens.length === 0) throw new OpenAiError(400, "'prompt' must not be empty", "prompt");
    const work = { ...parsed, door: "completion", requestClass: COMPLETION, tokens, format: { kind: "text" } } as const;
    return this.#generate(request, work);
  }

  async #generate(request: ServingRequest, work: Work): Promise<ServingAnswer> {
    const { pool, model } = this.#language;
    if (pool === null) throw new OpenAiError(400, "this model makes embeddings only: use /v1/embeddings", "model");
    const maxTokens = this.#boundTokens(work);
    const gone = new AbortController();
    request.onClientGone(() => gone.abort());
    const generation = generate(model, pool, {
      tokens: work.tokens,
      sampling: work.sampling,
      maxTokens,
      grammar: await this.#language.grammarOf(work.format),
      first: request.probe,
      signal: gone.signal,
      onProgress: (tokens) => {
        if (request.probe) return;
        this.#counters.progressed(work.requestClass, 1);
        this.#counters.count("tokensTotal", tokens);
      },
    });
    const telling: Telling = {
      door: work.door,
      id: `${work.door === "chat" ? "chatcmpl" : "cmpl"}-${randomUUID().replaceAll("-", "")}`,
      createdAtSeconds: nowSeconds(),
      model: work.model || this.#endpoint,
    };
    if (!work.stream) return whole(telling, generation);
    const first = await generation.next();
    if (first.done) return clientGone();
    return streamedAnswer(telling, first.value, generation, work.includeUsage);
  }

  /**
   * Refuses what can't fit before it is made of tokens: in that time (70 us a message, 0.2 s a megabyte) no other request
   * of this replica moves. Each message is marked by a token at least. Errors: OpenAiError.
   */
  #refuseHopeless(texts: readonly string[], field: string): void {
    const { contextTokens } = this.#language;
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (Math.max(texts.length, characters / LONGEST_TOKEN_CHARACTERS) < contextTokens) return;
    const held = `${texts.length} ${texts.length === 1 ? "text" : "texts"} of ${characters} characters`;
    throw new OpenAiError(
      400,
      `the model's context holds ${contextTokens} tokens; ${held} can't fit`,
      field,
      "context_length_exceeded",
    );
  }

  /** Tokens that may be generated. Errors: OpenAiError where prompt and answer don't fit the context. */
  #boundTokens({ tokens, sampling }: Work): number {
    const { contextTokens } = this.#language;
    const left = contextTokens - tokens.length;
    if (left < 1 || (sampling.maxTokens !== null && sampling.maxTokens > left)) {
      const wanted = sampling.maxTokens === null ? "" : ` and ${sampling.maxTokens} were asked for`;
      throw new OpenAiError(
        400,
        `the model's context holds ${contextTokens} tokens; the prompt has ${tokens.length}${wanted}`,
        left < 1 ? "messages" : "max_tokens",
        "context_length_exceeded",
      );
    }
    return sampling.maxTokens ?? left;
  }

  async #embed(request: ServingRequest): Promise<ServingAnswer> {
    const { model, inputs, base64 } = parseEmbeddingRequest(request.body);
    for (const input of inputs) if (typeof input === "string") this.#refuseHopeless([input], "input");
    const tokenized = inputs.map((input) => this.#language.embeddingInput(input));
    const longest = Math.max(...tokenized.map((tokens) => tokens.length));
    // The tokens that mark beginning and end of a text are added by the model.
    if (longest + 2 > this.#language.contextTokens) {
      throw new OpenAiError(
        400,
        `the model's context holds ${this.#language.contextTokens} tokens; an input has ${longest}`,
        "input",
        "context_length_exceeded",
      );
    }
    const vectors: number[][] = [];
    let gone = false;
    request.onClientGone(() => {
      gone = true;
    });
    for (const tokens of tokenized) {
      if (gone) return clientGone();
      vectors.push(await this.#language.embed(tokens));
      if (!request.probe) this.#counters.progressed(EMBEDDING, 1);
    }
    const promptTokens = tokenized.reduce((sum, tokens) => sum + tokens.length, 0);
    return embeddingAnswer(model || this.#endpoint, vectors, promptTokens, base64);
  }
}

async function whole(telling: Telling, generation: AsyncIterable<Generated>): Promise<ServingAnswer> {
  let text = "";
  for await (const generated of generation) {
    if (generated.kind === "end") return wholeAnswer(telling, text, generated);
    text += generated.text;
  }
  return clientGone();
}

/** Nobody reads it; 499 is what proxies log for a client that closed its request. */
function clientGone(): ServingAnswer {
  return openAiErrorAnswer(new OpenAiError(499, "the client closed the request"));
}

async function inDoorsShape(answer: () => Promise<ServingAnswer>): Promise<ServingAnswer> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof OpenAiError) return openAiErrorAnswer(error);
    throw error;
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** The model file of an artifact: the file itself, or the only `.gguf` of a folder (the first part of a split one). */
async function findModelFile(path: string): Promise<string> {
  if (!(await stat(path)).isDirectory()) return path;
  const files = (await readdir(path)).filter((name) => name.endsWith(".gguf")).toSorted();
  const heads = files.filter((name) => !/-\d{5}-of-\d{5}\.gguf$/.test(name) || /-00001-of-\d{5}\.gguf$/.test(name));
  if (heads.length !== 1) {
    throw new UserError(
      "PENSTOCK_GGUF_FILE",
      `the folder holds ${heads.length === 0 ? "no .gguf model" : `several models (${heads.join(", ")})`}`,
      "deploy the .gguf file itself",
    );
  }
  return join(path, heads[0]!);
}
