import type { MonoMs, Now } from "./time.ts";

/** Plain data that survives JSON unchanged: worlds, memories, outputs and kept projections are made of it. */
export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** Why a decision came out as it did: a stable name (`scale: fast-lane`, `hold: missing-load`) and the numbers it used. */
export interface Because {
  readonly reason: string;
  readonly inputs: Readonly<Record<string, number | string | boolean | null>>;
}

/** What one `decide` returns: new memory, the whole output value (not actions), the reason, and when to be asked again. */
export interface Verdict<M, O> {
  readonly memory: M;
  /** The controller's fact for this key; `null` removes the fact. Returning it twice changes nothing. */
  readonly output: O | null;
  readonly because: Because;
  readonly wakeAtMs: MonoMs | null;
}

/** What a key of the controller stands for. A `region` controller has the single key `region`. */
export type Scope = "region" | "endpoint" | "version";

/**
 * A slow, pure, level-triggered decider with one fact. B is the view of the Board, W the world it reads,
 * M its memory (in the process), K what is kept over a restart, O its fact.
 * Requires: `decide` reads nothing but its arguments, and an early or repeated call does no harm.
 */
export interface Controller<B, W, M, K, O> {
  readonly name: string;
  readonly scope: Scope;
  /** `everyMs`: decided at least this often; `minGapMs`: never more often than this. */
  readonly pace: { readonly everyMs: number; readonly minGapMs: number };
  observe(board: B, key: string): W;
  init(kept: K | null): M;
  keep(memory: M): K;
  decide(world: W, memory: M, now: Now): Verdict<M, O>;
}
