/** A source of uniform numbers in [0, 1). */
export type Uniform = () => number;

/**
 * Small seeded generator (mulberry32): the same seed gives the same sequence on every machine.
 * Not for secrets.
 */
export function seededUniform(seed: number): Uniform {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** An independent stream for the part called `name`, so that a new draw in one part does not shift the others. */
export function splitUniform(seed: number, name: string): Uniform {
  let hash = 2166136261 ^ seed;
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 16777619);
  }
  return seededUniform(hash >>> 0);
}

/** A draw from the exponential distribution with the given mean, same unit as `mean`. */
export function exponential(uniform: Uniform, mean: number): number {
  return -Math.log(1 - uniform()) * mean;
}
