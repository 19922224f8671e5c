import {
  type ChatHistoryItem,
  type ChatWrapper,
  getLlama,
  type Llama,
  type LlamaContext,
  type LlamaEmbeddingContext,
  type LlamaGrammar,
  LlamaLogLevel,
  type LlamaModel,
  type Token,
} from "node-llama-cpp";
import { UserError } from "../../core/errors.ts";
import type { RunSettings } from "../../domain/version.ts";
import { computeThreads } from "../thread-settings.ts";
import { resolveChatForm } from "./chat-form.ts";
import { OpenAiError } from "./openai-error.ts";
import type { ChatFormat, ChatMessage } from "./openai-request.ts";
import { computeContextTokens, computeSequences } from "./plan.ts";
import { SequencePool } from "./sequence-pool.ts";

/** Architectures that make embeddings and no text. */
const ENCODERS = /bert|t5encoder|gemma-embedding/;
/** Most tokens computed in one batch, llama.cpp's own default. */
const BATCH_TOKENS = 512;

/** A loaded GGUF model with what it needs to answer. */
export class LanguageModel {
  readonly model: LlamaModel;
  /** Null for models that make embeddings only. */
  readonly pool: SequencePool | null;
  /** Tokens a prompt and its answer may hold together. */
  readonly contextTokens: number;
  readonly sequences: number;
  readonly #llama: Llama;
  readonly #threads: number;
  readonly #chat: ChatWrapper;
  #embeddings: Promise<LlamaEmbeddingContext> | null = null;

  private constructor(llama: Llama, model: LlamaModel, context: LlamaContext | null, run: RunSettings) {
    this.#llama = llama;
    this.model = model;
    this.pool = context === null ? null : new SequencePool(context);
    this.sequences = context?.totalSequences ?? 1;
    this.contextTokens = context?.contextSize ?? computeContextTokens(run.contextTokens, model.trainContextSize);
    this.#threads = computeThreads(run.cpuCount);
    this.#chat = resolveChatForm(model, llama);
  }

  /**
   * Loads a model onto the CPU. Cost: the file is mapped, not read whole.
   * Errors: UserError where the file is no model that llama.cpp knows.
   */
  static async load(path: string, run: RunSettings): Promise<LanguageModel> {
    const threads = computeThreads(run.cpuCount);
    const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: threads });
    const model = await loadModel(llama, path);
    if (ENCODERS.test(model.fileInfo.metadata.general.architecture)) {
      return new LanguageModel(llama, model, null, run);
    }
    const contextSize = computeContextTokens(run.contextTokens, model.trainContextSize);
    const memoryFor = (sequences: number): number =>
      model.fileInsights.estimateContextResourceRequirements({
        contextSize,
        modelGpuLayers: 0,
        sequences,
        batchSize: BATCH_TOKENS,
      }).cpuRam;
    const context = await model.createContext({
      contextSize,
      sequences: computeSequences({
        cpuCount: run.cpuCount,
        memoryBytes: run.memoryBytes,
        modelBytes: model.size,
        bytesPerSequence: memoryFor(2) - memoryFor(1),
      }),
      batchSize: BATCH_TOKENS,
      threads,
    });
    return new LanguageModel(llama, model, context, run);
  }

  /** The prompt of a chat: the model's own template with `messages`, open for the assistant's answer. */
  chatPrompt(messages: readonly ChatMessage[]): Token[] {
    const history = messages.map(
      ({ role, text }): ChatHistoryItem =>
        role === "assistant" ? { type: "model", response: [text] } : { type: role, text },
    );
    const { contextText } = this.#chat.generateContextState({
      chatHistory: [...history, { type: "model", response: [] }],
    });
    return contextText.tokenize(this.model.tokenizer);
  }

  /** The prompt of a plain completion, with the token that the model wants at the beginning of a text. */
  textPrompt(prompt: string | readonly number[]): Token[] {
    if (typeof prompt !== "string") return [...prompt] as Token[];
    const tokens = this.model.tokenize(prompt);
    const { bos, shouldPrependBosToken } = this.model.tokens;
    return bos !== null && shouldPrependBosToken ? [bos, ...tokens] : tokens;
  }

  /** The grammar that holds an answer to `format`, or null. Errors: OpenAiError where the schema can't be turned into one. */
  async grammarOf(format: ChatFormat): Promise<LlamaGrammar | null> {
    if (format.kind === "text") return null;
    if (format.kind === "json") return this.#llama.getGrammarFor("json");
    try {
      return await this.#llama.createGrammarForJsonSchema(format.schema as { type: "object" });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new OpenAiError(400, `the schema can't be used: ${why}`, "response_format.json_schema.schema");
    }
  }

  /** Tokens of an embedding's input. */
  embeddingInput(input: string | readonly number[]): Token[] {
    return typeof input === "string" ? this.model.tokenize(input) : ([...input] as Token[]);
  }

  /** The embedding of `tokens`, of length 1. */
  async embed(tokens: readonly Token[]): Promise<number[]> {
    this.#embeddings ??= this.model.createEmbeddingContext({
      contextSize: this.contextTokens,
      batchSize: this.contextTokens,
      threads: this.#threads,
    });
    const { vector } = await (await this.#embeddings).getEmbeddingFor([...tokens]);
    const length = Math.hypot(...vector) || 1;
    return vector.map((value) => value / length);
  }

  async close(): Promise<void> {
    await this.#llama.dispose();
  }
}

async function loadModel(llama: Llama, path: string): Promise<LlamaModel> {
  try {
    return await llama.loadModel({ modelPath: path, gpuLayers: 0 });
  } catch (error) {
    throw new UserError(
      "PENSTOCK_GGUF_LOAD",
      `the file is not a model that llama.cpp can load: ${error instanceof Error ? error.message : String(error)}`,
      "check that the file is whole (its SHA-256) and that its architecture is one that llama.cpp knows",
    );
  }
}
