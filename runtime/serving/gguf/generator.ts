import {
  type LlamaContextSequence,
  type LlamaGrammar,
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type SequenceEvaluateOptions,
  type Token,
} from "node-llama-cpp";
import type { Sampling } from "./openai-request.ts";
import type { SequencePool } from "./sequence-pool.ts";
import { CharacterStream, StopFilter } from "./text-stream.ts";

/**
 * Prompt tokens computed between two signs of progress: half a batch, so that other sequences' tokens still fit in and
 * a client that has gone frees its sequence within one such chunk.
 */
const PREFILL_CHUNK = 256;
/** Candidates and floor of sampling, as llama.cpp's own server sets them: small models drift without. */
const TOP_K = 40;
const MIN_P = 0.05;

/** A piece of generated text, or the end. */
export type Generated =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "end";
      readonly finishReason: "stop" | "length";
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly completionTokens: number;
    };

/** One generation. */
export interface Generation {
  readonly tokens: readonly Token[];
  readonly sampling: Sampling;
  /** Most tokens to generate; prompt and answer together fit the context. */
  readonly maxTokens: number;
  readonly grammar: LlamaGrammar | null;
  /** Goes before others that wait for a sequence. */
  readonly first: boolean;
  /** Aborts within one token's time and frees the sequence. */
  readonly signal: AbortSignal;
  /** Called for each piece of work done: a chunk of the prompt, or a token. */
  onProgress(tokens: number): void;
}

/** Generates on the next free sequence of the pool. Ends without an `end` when it was aborted. */
export async function* generate(model: LlamaModel, pool: SequencePool, job: Generation): AsyncGenerator<Generated> {
  const sequence = await pool.acquire(job.tokens, job.first, job.signal);
  if (sequence === null) return;
  try {
    const cachedTokens = await prefill(sequence, job);
    if (job.signal.aborted) return;
    yield* decode(model, sequence, job, cachedTokens);
  } finally {
    pool.release(sequence);
  }
}

/** Computes the prompt but its last tokens; returns how many were there already. */
async function prefill(sequence: LlamaContextSequence, { tokens, signal, onProgress }: Generation): Promise<number> {
  // The last token is always computed anew: the first new token is drawn from its result.
  await sequence.adaptStateToTokens(tokens.slice(0, -1), false);
  const cached = sequence.nextTokenIndex;
  for (let at = cached; tokens.length - at > PREFILL_CHUNK && !signal.aborted; at += PREFILL_CHUNK) {
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, at + PREFILL_CHUNK));
    onProgress(0);
  }
  return cached;
}

async function* decode(
  model: LlamaModel,
  sequence: LlamaContextSequence,
  job: Generation,
  cachedTokens: number,
): AsyncGenerator<Generated> {
  const generated: Token[] = [];
  const characters = new CharacterStream<Token>((tokens, before) => model.detokenize(tokens, false, before));
  const stops = new StopFilter(job.sampling.stop);
  let finishReason: "stop" | "length" = "length";
  let stopped = false;
  const rest = job.tokens.slice(sequence.nextTokenIndex);
  for await (const token of sequence.evaluate(rest, evaluateOptions(model, job, generated))) {
    if (job.signal.aborted) return;
    job.onProgress(1);
    generated.push(token);
    if (model.isEogToken(token)) {
      finishReason = "stop";
      break;
    }
    const sendable = stops.push(characters.push(token));
    if (sendable.text !== "") yield { kind: "text", text: sendable.text };
    stopped = sendable.stopped;
    if (stopped || generated.length >= job.maxTokens) break;
  }
  if (stopped) finishReason = "stop";
  else {
    const text = stops.push(characters.flush()).text + stops.flush();
    if (text !== "") yield { kind: "text", text };
  }
  yield {
    kind: "end",
    finishReason,
    promptTokens: job.tokens.length,
    cachedTokens,
    completionTokens: generated.length,
  };
}

function evaluateOptions(model: LlamaModel, job: Generation, generated: readonly Token[]): SequenceEvaluateOptions {
  const { temperature, topP, seed, frequencyPenalty, presencePenalty } = job.sampling;
  const penalized = frequencyPenalty !== 0 || presencePenalty !== 0;
  return {
    temperature,
    topP,
    topK: TOP_K,
    minP: MIN_P,
    yieldEogToken: true,
    ...(seed === null ? {} : { seed: seed >>> 0 }),
    ...(penalized
      ? { repeatPenalty: { punishTokens: () => [...generated], penalty: 1, frequencyPenalty, presencePenalty } }
      : {}),
    ...(job.grammar === null
      ? {}
      : { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar: job.grammar }) }),
  };
}
