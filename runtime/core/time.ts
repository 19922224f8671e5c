/**
 * Two clocks as two types, so that a duration is never computed from a clock that can step.
 */
declare const monoMs: unique symbol;
declare const wallMs: unique symbol;

/** Milliseconds of a clock that only goes forward; its zero means nothing outside the process. */
export type MonoMs = number & { readonly [monoMs]: true };

/** Milliseconds since 1970-01-01 UTC; may step in either direction. For people and for storage. */
export type WallMs = number & { readonly [wallMs]: true };

/** The moment a decision is made at, on both clocks. */
export interface Now {
  readonly mono: MonoMs;
  readonly wall: WallMs;
}

/** Marks a number as monotonic milliseconds. */
export const asMonoMs = (ms: number): MonoMs => ms as MonoMs;

/** Marks a number as wall-clock milliseconds. */
export const asWallMs = (ms: number): WallMs => ms as WallMs;
