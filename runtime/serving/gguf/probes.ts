import type { ProbeRequest, Probes } from "../contract.ts";

/** Tokens of a warm-up answer: enough that decoding, not only the prompt, is warmed and measured. */
const WARMUP_TOKENS = 8;

/** Probes of a model that generates text; a chat of one word, answered at temperature 0. */
export function chatProbes(chatClass: string, completionClass: string): Probes {
  return {
    warmUps: [chat(chatClass, WARMUP_TOKENS)],
    canaries: [
      chat(chatClass, 1),
      probe(completionClass, "/v1/completions", { prompt: "Hi", max_tokens: 1, temperature: 0 }),
    ],
  };
}

/** Probes of a model that makes embeddings. */
export function embeddingProbes(embeddingClass: string): Probes {
  const one = probe(embeddingClass, "/v1/embeddings", { input: "Hi" });
  return { warmUps: [one], canaries: [one] };
}

function chat(requestClass: string, tokens: number): ProbeRequest {
  const messages = [{ role: "user", content: "Hi" }];
  return probe(requestClass, "/v1/chat/completions", { messages, max_tokens: tokens, temperature: 0 });
}

function probe(requestClass: string, path: string, fields: object): ProbeRequest {
  const headers = { "content-type": "application/json" };
  return { requestClass, method: "POST", path, headers, body: JSON.stringify(fields) };
}
