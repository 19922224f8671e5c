import { computeThreads } from "../thread-settings.ts";

/** Context per sequence where the user sets none: enough for a chat of some turns, and memory for several sequences. */
const DEFAULT_CONTEXT_TOKENS = 2048;
/**
 * Sequences per core. On a CPU a batch saves little (SmolLM2-135M on one thread: 30 ms of CPU a token alone, 27 with 4
 * together, 25 with 8), so that more would only slow every answer down and hold memory.
 */
const SEQUENCES_PER_THREAD = 4;
const MAX_SEQUENCES = 64;
/** Share of a memory allotment left for the model's buffers, batches and this process. */
const MEMORY_RESERVE = 0.2;

/** What decides how many requests a replica computes together. */
export interface SequencePlanInput {
  readonly cpuCount: number;
  /** Allotment of the replica, or null where none is set. */
  readonly memoryBytes: number | null;
  readonly modelBytes: number;
  /** Memory of one sequence of `contextTokens`. */
  readonly bytesPerSequence: number;
}

/** Tokens of context per sequence: what the user set, or the default, never more than the model was trained for. */
export function computeContextTokens(wanted: number | null, trainedTokens: number): number {
  return Math.min(wanted ?? DEFAULT_CONTEXT_TOKENS, trainedTokens);
}

/** Sequences computed together: by cores, and by what the memory allotment holds beside the model; at least 1. */
export function computeSequences(input: SequencePlanInput): number {
  const byCpu = SEQUENCES_PER_THREAD * computeThreads(input.cpuCount);
  const room =
    input.memoryBytes === null ? Number.POSITIVE_INFINITY : input.memoryBytes * (1 - MEMORY_RESERVE) - input.modelBytes;
  const byMemory = Math.floor(room / input.bytesPerSequence);
  return Math.max(1, Math.min(byCpu, byMemory, MAX_SEQUENCES));
}
