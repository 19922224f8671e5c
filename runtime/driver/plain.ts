import { InvariantError } from "../core/assert.ts";
import type { Plain } from "../core/controller.ts";

/**
 * The value as Plain, or InvariantError naming the first member that JSON would change (undefined, a function, a
 * class, NaN, an infinity). Undefined members of objects count too: a replay would not see them.
 * Cost: one walk.
 */
export function requirePlain(value: unknown, path: string): Plain {
  walk(value, path);
  return value as Plain;
}

function walk(value: unknown, path: string): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    throw new InvariantError(`${path} is ${value}, which JSON can't hold`);
  }
  if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) walk(member, `${path}[${index}]`);
    return;
  }
  if (typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    for (const [name, member] of Object.entries(value)) walk(member, `${path}.${name}`);
    return;
  }
  throw new InvariantError(`${path} is a ${typeof value}, which is not plain data`);
}
