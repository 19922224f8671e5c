import type { MonoMs } from "./time.ts";

/**
 * A value that may not have been observed: blind is a state of its own, never 0 or -1.
 * `generation` counts the changes of this fact; `atMs` is when it was last written.
 */
export type Known<T> =
  | { readonly kind: "known"; readonly value: T; readonly atMs: MonoMs; readonly generation: number }
  | { readonly kind: "missing"; readonly why: string };

/** A missing value with its reason. */
export function missing(why: string): Known<never> {
  return { kind: "missing", why };
}
