import { createHash } from "node:crypto";
import type { Plain } from "./controller.ts";

/** JSON with object keys sorted: equal values give equal text. Undefined members are left out. */
export function canonicalJson(value: Plain | undefined): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    member !== null && typeof member === "object" && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : member,
  );
}

/** SHA-256 of `data` as 64 lower-case hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
