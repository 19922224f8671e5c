import { createHash } from "node:crypto";
import type { Plain } from "./controller.ts";

/**
 * JSON with object keys sorted: equal values give equal text. Undefined members are left out.
 * Written out by hand since it runs on every write of a fact: JSON.stringify with a replacer that sorts takes over twice as long.
 */
export function canonicalJson(value: Plain | undefined): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((member) => canonicalJson(member) ?? "null").join(",")}]`;
  const object = value as { readonly [key: string]: Plain | undefined };
  let text = "";
  for (const key of Object.keys(object).sort()) {
    const member = object[key];
    if (member !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** SHA-256 of `data` as 64 lower-case hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
