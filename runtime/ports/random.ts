/** Randomness, injected so that a seed replays. */
export interface Random {
  /** Uniform in [0, 1). */
  uniform(): number;
}
