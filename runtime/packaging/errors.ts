import { UserError } from "../core/errors.ts";

/** A UserError that may pass by itself (no network, a full disk): whoever asked tries again, with back-off. */
export class RetryableError extends UserError {}

/** The system's code of an error (`ENOENT`, `ENOSPC`), or "". */
export function systemCode(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : "";
}
