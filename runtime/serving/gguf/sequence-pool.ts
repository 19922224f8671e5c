import type { LlamaContext, LlamaContextSequence, Token } from "node-llama-cpp";

/** A request that waits for a sequence. */
interface Waiting {
  readonly tokens: readonly Token[];
  readonly resolve: (sequence: LlamaContextSequence | null) => void;
}

/**
 * The sequences of a context: each carries one request at a time, all are computed together in one batch per token.
 * A free sequence keeps what it has computed, so that the next turn of a chat finds its beginning there.
 */
export class SequencePool {
  readonly #all: readonly LlamaContextSequence[];
  readonly #free: Set<LlamaContextSequence>;
  readonly #waiting: Waiting[] = [];

  constructor(context: LlamaContext) {
    this.#all = Array.from({ length: context.totalSequences }, () => context.getSequence());
    this.#free = new Set(this.#all);
  }

  get active(): number {
    return this.#all.length - this.#free.size;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Share of all sequences' token cells that active requests hold. */
  kvUseRatio(): number {
    const used = this.#all.reduce((sum, sequence) => sum + (this.#free.has(sequence) ? 0 : sequence.nextTokenIndex), 0);
    return used / this.#all.reduce((sum, sequence) => sum + sequence.contextSize, 0);
  }

  /**
   * The free sequence that already holds the longest beginning of `tokens`, waiting for one if none is free.
   * `first`: before all others that wait. Null when `signal` aborts before its turn.
   */
  acquire(tokens: readonly Token[], first: boolean, signal: AbortSignal): Promise<LlamaContextSequence | null> {
    if (signal.aborted) return Promise.resolve(null);
    if (this.#free.size > 0) return Promise.resolve(this.#take(tokens));
    return new Promise((resolve) => {
      const waiting: Waiting = { tokens, resolve };
      if (first) this.#waiting.unshift(waiting);
      else this.#waiting.push(waiting);
      signal.addEventListener("abort", () => {
        const at = this.#waiting.indexOf(waiting);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        resolve(null);
      });
    });
  }

  /** Gives a sequence back; the request that waits longest gets it. */
  release(sequence: LlamaContextSequence): void {
    this.#free.add(sequence);
    const next = this.#waiting.shift();
    next?.resolve(this.#take(next.tokens));
  }

  #take(tokens: readonly Token[]): LlamaContextSequence {
    const ranked = [...this.#free].map((sequence) => ({
      sequence,
      common: sequence.compareContextTokens([...tokens]).firstDifferentIndex,
      held: sequence.nextTokenIndex,
    }));
    // Without a common beginning the emptiest is taken: the others' may still be asked for.
    ranked.sort((a, b) => b.common - a.common || a.held - b.held);
    const { sequence } = ranked[0]!;
    this.#free.delete(sequence);
    return sequence;
  }
}
