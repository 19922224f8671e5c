import type { Known } from "../../core/known.ts";

/** The value, or null where it is missing: for showing, never for deciding. */
export function valueOrNull<T>(known: Known<T>): T | null {
  return known.kind === "known" ? known.value : null;
}
