import type { Random } from "../ports/random.ts";

/** The engine's own generator; not for secrets. */
export const systemRandom: Random = { uniform: () => Math.random() };
