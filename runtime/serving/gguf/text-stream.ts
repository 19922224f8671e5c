/** Turns tokens into text that may be sent: whole characters only, and nothing that may be the start of a stop text. */

/** Turns tokens into text as the model's tokenizer does; `before` are tokens that came right before. */
export type Detokenize<T> = (tokens: readonly T[], before: readonly T[]) => string;

/** Tokens kept as context for the tokenizer (it decides on leading blanks by them). */
const CONTEXT_TOKENS = 8;
/** A character is 4 bytes at most, so that after this many tokens an incomplete one is no character at all. */
const MAX_INCOMPLETE_TOKENS = 4;
const REPLACEMENT = "\uFFFD";

/** Gathers tokens until they make whole characters. */
export class CharacterStream<T> {
  readonly #detokenize: Detokenize<T>;
  #before: T[] = [];
  #pending: T[] = [];

  constructor(detokenize: Detokenize<T>) {
    this.#detokenize = detokenize;
  }

  /** The text that `token` completes, maybe "". */
  push(token: T): string {
    this.#pending.push(token);
    const text = this.#detokenize(this.#pending, this.#before);
    if (text.endsWith(REPLACEMENT) && this.#pending.length < MAX_INCOMPLETE_TOKENS) return "";
    return this.#release(text);
  }

  /** What is left, at the end. */
  flush(): string {
    return this.#pending.length === 0 ? "" : this.#release(this.#detokenize(this.#pending, this.#before));
  }

  #release(text: string): string {
    this.#before = [...this.#before, ...this.#pending].slice(-CONTEXT_TOKENS);
    this.#pending = [];
    return text;
  }
}

/** Lets text through up to the first stop text, holding back what may become one. */
export class StopFilter {
  readonly #stops: readonly string[];
  #held = "";

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** Text that may be sent now; `stopped` once a stop text has come (it is not sent). */
  push(text: string): { readonly text: string; readonly stopped: boolean } {
    const all = this.#held + text;
    const ends = this.#stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0);
    if (ends.length > 0) {
      this.#held = "";
      return { text: all.slice(0, Math.min(...ends)), stopped: true };
    }
    const keep = Math.max(0, ...this.#stops.map((stop) => overlap(all, stop)));
    this.#held = all.slice(all.length - keep);
    return { text: all.slice(0, all.length - keep), stopped: false };
  }

  /** What was held back, at the end. */
  flush(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

/** Length of the longest end of `text` that is a start of `stop`. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
