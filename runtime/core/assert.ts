/** A broken invariant: a bug in Penstock, never a user's mistake. The process that sees one ends and is restarted. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Throws InvariantError with `message` unless `condition` holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Makes the compiler prove that a switch over a union is complete. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable case: ${String(value)}`);
}
